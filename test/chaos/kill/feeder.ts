// Brings the rows in: a fifth before the run, the rest during most of it. Some transactions stay open for seconds, so that
// lower keys commit late; some roll back; hints are pushed before the commit, after it, or never.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { regrow } from '../../../src/index.ts'
import type { Seeded } from '../../../src/testing/seeded.ts'
import { chaosJobs, failsOnce, failsTwice, type Kind, kindInSql, kindOf, poison, rounds } from './jobs.ts'

const perTransaction = 400
/** A transaction that stays open does so for as long at most. */
const openMs = 4_000

/** About one row in twenty fails first, half of those twice. */
const insert = `
  with fresh as (
    select id, ${kindInSql} as kind,
      case id % 41 when ${failsOnce} then 1 when ${failsTwice} then 2 else 0 end as fails
    from generate_series($1::bigint, $2::bigint) id
  ), told as (
    insert into expected (key, job, round, fails)
    select id, kind, round, case when round = 1 then fails else 0 end from fresh
    cross join lateral generate_series(1, case when kind = 'round' then ${rounds} else 1 end) round
  )
  insert into rows (id, kind, fails) select id, kind, fails from fresh`

export class Feeder {
  /** Rows that are committed. */
  fed = 0
  readonly #rows: number
  readonly #random: Seeded
  readonly #pool: pg.Pool
  readonly #app
  readonly #jobs
  #next = 1

  constructor(url: string, rows: number, random: Seeded) {
    this.#rows = rows
    this.#random = random
    this.#pool = new pg.Pool({ connectionString: url, max: 20 })
    this.#app = regrow({ store: postgres(url, { max: 2 }), migrate: false })
    this.#jobs = chaosJobs(this.#app)
  }

  /** The rows that are there before the first worker, without a hint. */
  async before(): Promise<void> {
    const count = Math.floor(this.#rows / 5)
    await this.#pool.query(insert, [this.#next, count])
    this.#next += count
    this.fed += count
    await this.#pool.query('analyze rows')
  }

  /** One row per job whose handler kills its process. */
  async poison(): Promise<void> {
    for (const [kind, id] of Object.entries(poison) as [Kind, number][]) {
      await this.#pool.query(`insert into rows (id, kind) values ($1, $2)`, [id, kind])
      await this.#jobs[kind].enqueue(BigInt(id))
    }
  }

  /** The other rows, spread over `ms`; resolves when all are committed. */
  async during(ms: number): Promise<void> {
    const from = this.fed
    const began = performance.now()
    const open = new Set<Promise<void>>()
    let left = this.#rows - from
    while (left > 0) {
      const due = Math.min(1, (performance.now() - began) / ms) * (this.#rows - from)
      while (left > 0 && this.#rows - from - left < due) {
        const count = Math.min(perTransaction, left)
        const rollsBack = this.#random.below(20) === 0
        if (!rollsBack) left -= count
        const work: Promise<void> = this.#transaction(count, rollsBack).finally(() => open.delete(work))
        open.add(work)
      }
      await sleep(100)
    }
    await Promise.all(open)
  }

  async #transaction(count: number, rollsBack: boolean): Promise<void> {
    const ids = Array.from({ length: count }, () => this.#next++)
    const stays = this.#random.below(10) < 3 ? this.#random.below(openMs) : 0
    const hinted = this.#random.pick(['before', 'after', 'after', 'never'] as const)
    const client = await this.#pool.connect()
    try {
      await client.query('begin')
      await client.query(insert, [ids[0], ids.at(-1)])
      if (hinted === 'before') await this.#hint(ids)
      if (stays > 0) await sleep(stays)
      await client.query(rollsBack ? 'rollback' : 'commit')
    } finally {
      client.release()
    }
    if (!rollsBack) this.fed += count
    if (hinted === 'after' && !rollsBack) await this.#hint(ids)
  }

  async #hint(ids: readonly number[]): Promise<void> {
    for (const kind of ['many', 'one', 'round'] as const)
      await this.#jobs[kind].enqueueMany(ids.filter((id) => kindOf(id) === kind).map(BigInt))
  }

  async close(): Promise<void> {
    await this.#app.close()
    await this.#pool.end()
  }
}
