// Popped hints stay in the table until a vacuum may remove them, and it may not while somebody keeps a transaction open. A
// table that has grown far beyond its hints is emptied, and what it held is put back in the same transaction: nobody takes it
// for a loss. So is the canary's, whose one row has a new version each second.
import type { Clock } from '../../../base/clock.ts'
import type { SqlDatabase, SqlExecutor } from '../../sql/client.ts'
import { sqlState } from '../store/errors.ts'
import { statements } from './statements.gen.ts'

/** How often a process that pops looks at the size of the table. */
const lookMs = 5_000
/** While pops find nothing, the time between two looks is this many times longer. */
const idleTimes = 6
/** No table smaller than this is worth it; one of hints that wait is as large as it has to be. */
const bytesMin = 8 * 1024 * 1024
/** Some twenty minutes of marks. */
const canaryBytesMin = 64 * 1024
/** About what a hint takes, without the index. */
const bytesPerHint = 64
/** A table that is so many times as large as its hints is emptied. */
const timesTooLarge = 4
/** More are not copied while everybody waits. */
const hintsMax = 200_000
/** Who holds the table is not waited for, nor made to wait: the next look comes soon. */
const lockMs = 100

export interface RotationOptions {
  /** Smaller in tests. */
  readonly bytesMin?: number
  readonly lookMs?: number
}

export class Rotation {
  readonly #db: Pick<SqlDatabase, 'transaction'> & SqlExecutor
  readonly #clock: Clock
  readonly #options: Required<RotationOptions>
  #lookAt: number
  /** Below these sizes nothing is done; they grow where a look found that there is nothing to gain. */
  readonly #bytes: { hints: number; canary: number }
  #looking: Promise<void> | undefined

  constructor(db: Pick<SqlDatabase, 'transaction'> & SqlExecutor, clock: Clock, options: RotationOptions = {}) {
    this.#db = db
    this.#clock = clock
    this.#options = { bytesMin, lookMs, ...options }
    this.#bytes = { hints: this.#options.bytesMin, canary: canaryBytesMin }
    this.#lookAt = clock.now() + this.#options.lookMs
  }

  /** Called after pops, with whether they found hints; it looks now and then, beside the caller. */
  popped(found: boolean): void {
    const idleMs = found ? 0 : this.#options.lookMs * (idleTimes - 1)
    if (this.#looking || this.#clock.now() < this.#lookAt + idleMs) return
    // A table that cannot be emptied now is emptied later; vacuum does the rest.
    this.#looking = this.#look().catch(() => {})
    void this.#looking.finally(() => {
      this.#lookAt = this.#clock.now() + this.#options.lookMs
      this.#looking = undefined
    })
  }

  async over(): Promise<void> {
    await this.#looking
  }

  async #look(): Promise<void> {
    const { rows } = await this.#db.query(sizeText)
    const [hints, canary] = [Number(rows[0]?.hints), Number(rows[0]?.canary)]
    if (hints >= this.#bytes.hints) {
      const counted = Number((await this.#db.query(countText)).rows[0]?.count)
      if (counted > hintsMax || hints < counted * bytesPerHint * timesTooLarge) this.#bytes.hints = hints * 2
      else await this.#empty('hints', hints, this.#options.bytesMin, rotateHints)
    }
    if (canary >= this.#bytes.canary) await this.#empty('canary', canary, canaryBytesMin, rotateCanary)
  }

  /** One table at a time: pushes and pops hold both, in either order, and who waits for one while it holds the other waits in vain. */
  async #empty(table: 'hints' | 'canary', bytes: number, least: number, rotate: (tx: SqlExecutor) => Promise<void>) {
    try {
      await this.#db.transaction(async (tx) => {
        await tx.query(`set local lock_timeout = ${lockMs}`)
        await tx.query(`lock table regrow.${table} in access exclusive mode`)
        // Somebody else may have done it while this one waited.
        const { rows } = await tx.query(`select pg_relation_size('regrow.${table}')::float8 as bytes`)
        if (Number(rows[0]?.bytes) >= this.#bytes[table]) await rotate(tx)
      })
      this.#bytes[table] = least
    } catch (error) {
      // Somebody holds it: the next look tries again. Whoever may not do this leaves it to others, and looks seldom.
      if (sqlState(error) !== '55P03') this.#bytes[table] = bytes * 2
    }
  }
}

async function rotateHints(tx: SqlExecutor): Promise<void> {
  await tx.query(
    'create temporary table regrow_rotated on commit drop as select due_at, fresh, job, key from regrow.hints',
  )
  await tx.query('truncate regrow.hints')
  await tx.query(
    'insert into regrow.hints (due_at, fresh, job, key) select due_at, fresh, job, key from pg_temp.regrow_rotated order by due_at',
  )
}

async function rotateCanary(tx: SqlExecutor): Promise<void> {
  const { rows } = await tx.query('select epoch::text as epoch, sequence::text as sequence from regrow.canary')
  await tx.query('truncate regrow.canary')
  for (const { epoch, sequence } of rows) await tx.query(statements.mark.set, [epoch as string, sequence as string])
}

const sizeText = `
select pg_relation_size('regrow.hints')::float8 as hints, pg_relation_size('regrow.canary')::float8 as canary`
const countText = `select count(*)::float8 as count from (select 1 from regrow.hints limit ${hintsMax + 1}) x`
