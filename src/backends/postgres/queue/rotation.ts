// Popped hints stay in the table until a vacuum may remove them, and it may not while somebody keeps a transaction open. A
// table that has grown far beyond its hints is emptied, and what it held is put back: a view may do that. Canary and hints
// change in one transaction, so that nobody takes it for a loss.
import type { Clock } from '../../../base/clock.ts'
import { type SqlDatabase, type SqlExecutor, sqlState } from '../../../store/executor.ts'

/** How often a process that pops looks at the size of the table. */
const lookMs = 5_000
/** No table smaller than this is worth it; one of hints that wait is as large as it has to be. */
const bytesMin = 8 * 1024 * 1024
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
  /** Below this size nothing is done; it grows where a look found that there is nothing to gain. */
  #bytes: number
  #looking: Promise<void> | undefined

  constructor(db: Pick<SqlDatabase, 'transaction'> & SqlExecutor, clock: Clock, options: RotationOptions = {}) {
    this.#db = db
    this.#clock = clock
    this.#options = { bytesMin, lookMs, ...options }
    this.#bytes = this.#options.bytesMin
    this.#lookAt = clock.now() + this.#options.lookMs
  }

  /** Called after pops; it looks now and then, beside whoever called. */
  popped(): void {
    if (this.#looking || this.#clock.now() < this.#lookAt) return
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
    const bytes = Number(rows[0]?.bytes)
    if (bytes < this.#bytes) return
    const counted = await this.#db.query(countText)
    const hints = Number(counted.rows[0]?.hints)
    if (hints > hintsMax || bytes < hints * bytesPerHint * timesTooLarge) {
      this.#bytes = bytes * 2
      return
    }
    try {
      await this.#db.transaction((tx) => this.#rotate(tx))
      this.#bytes = this.#options.bytesMin
    } catch (error) {
      // Somebody holds it: the next look tries again. Whoever may not do this leaves it to others, and looks seldom.
      if (sqlState(error) !== '55P03') this.#bytes = bytes * 2
    }
  }

  async #rotate(tx: SqlExecutor): Promise<void> {
    await tx.query(`set local lock_timeout = ${lockMs}`)
    await tx.query('lock table regrow.hints, regrow.canary in access exclusive mode')
    // Somebody else may have done it while this one waited.
    const { rows } = await tx.query(sizeText)
    if (Number(rows[0]?.bytes) < this.#bytes) return
    const marks = await tx.query('select epoch::text as epoch, sequence::text as sequence from regrow.canary')
    await tx.query(
      'create temporary table regrow_rotated on commit drop as select due_at, fresh, job, key from regrow.hints',
    )
    await tx.query('truncate regrow.hints, regrow.canary')
    await tx.query(
      'insert into regrow.hints (due_at, fresh, job, key) select due_at, fresh, job, key from pg_temp.regrow_rotated order by due_at',
    )
    for (const { epoch, sequence } of marks.rows)
      await tx.query('insert into regrow.canary (epoch, sequence) values ($1::text::int8, $2::text::int8)', [
        epoch as string,
        sequence as string,
      ])
  }
}

const sizeText = `select pg_relation_size('regrow.hints')::float8 as bytes`
const countText = `select count(*)::float8 as hints from (select 1 from regrow.hints limit ${hintsMax + 1}) x`
