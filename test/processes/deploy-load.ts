// A steady load for deploy.ts: rows of every kind in each tenth of a second, most of them enqueued by the web processes of one
// version or the other, the rest left to the sweep. Rows of `legacy` and `invoice` come all the time, whoever works.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow } from '../../src/index.ts'
import { type AppVersion, deployJobs, type Kind, kinds } from './deploy-app.ts'

const tickMs = 100

/** An app of that version that only enqueues. */
function web(url: string, version: AppVersion) {
  const app = regrow({ store: postgres(url, { max: 2 }), migrate: false })
  const jobs = new Map(Object.entries(deployJobs(app, version)))
  return { app, enqueue: (kind: Kind, ids: readonly bigint[]) => jobs.get(kinds[kind])?.enqueueMany(ids) }
}

export class Load {
  readonly #client: pg.Client
  readonly #webs: ReturnType<typeof web>[]
  readonly #perTick: number
  readonly #over = new AbortController()
  #feeding = Promise.resolve()
  #next = 1

  private constructor(client: pg.Client, webs: ReturnType<typeof web>[], perSecond: number) {
    this.#client = client
    this.#webs = webs
    this.#perTick = Math.max(1, Math.round((perSecond * tickMs) / 1_000))
  }

  static async begin(url: string, perSecond: number): Promise<Load> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const load = new Load(client, [web(url, 'old'), web(url, 'new')], perSecond)
    load.#feeding = load.#feed()
    return load
  }

  /** Resolves when the last row is there. */
  async end(): Promise<void> {
    this.#over.abort()
    await this.#feeding
  }

  async close(): Promise<void> {
    await this.end()
    for (const { app } of this.#webs) await app.close()
    await this.#client.end()
  }

  async #feed(): Promise<void> {
    const began = performance.now()
    for (let tick = 1; !this.#over.signal.aborted; tick++) {
      for (const kind of Object.keys(kinds) as Kind[]) await this.#rows(kind, tick)
      const waitMs = began + tick * tickMs - performance.now()
      await sleep(Math.max(0, waitMs), undefined, { signal: this.#over.signal }).catch(() => {})
    }
  }

  async #rows(kind: Kind, tick: number): Promise<void> {
    const ids = Array.from({ length: this.#perTick }, () => BigInt(this.#next++))
    const fails = kinds[kind] === 'ship' && tick % 20 === 0 ? 1 : 0
    await this.#client.query(`insert into orders (id, kind, fails) select unnest($1::text::bigint[]), $2, $3`, [
      `{${ids.join(',')}}`,
      kind,
      fails,
    ])
    // Two of three ticks are enqueued, by whichever version's web knows the job.
    if (tick % 3 > 0) await this.#webs[tick % 2]?.enqueue(kind, ids)
  }
}
