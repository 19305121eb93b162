// Workers on a Postgres with its queue: the queue is wiped every few seconds, and a random worker killed -9 and replaced, until
// nothing is pending; then it counts. `npm run chaos -- wipe` judges it.

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { regrow } from '../../../src/index.ts'
import { operate } from '../../../src/operate/index.ts'
import { Seeded } from '../../../src/testing/seeded.ts'
import { Crew } from '../../processes/crew.ts'
import { faults, noFaults } from '../faults.ts'
import { readWorkerNotes, troubles } from '../notes.ts'
import { fillRows, pendingRows, verdictOf, type WipeVerdict, type WipeWorkerSettings, wipeTables } from './jobs.ts'

export interface WipeOptions {
  /** A build of the sources, for the workers. */
  readonly build: string
  /** An empty database. */
  readonly url: string
  /** An empty folder for what the workers write. */
  readonly folder: string
  readonly rows: number
  readonly workers: number
  readonly concurrency: number
  readonly batch: number
  readonly takesMs: number
  readonly leaseMs: number
  readonly wipeEveryMs: number
  readonly killEveryMs: number
  readonly seed: number
  /** Faults end after so many wipes. Defaults to no such end. */
  readonly wipesMax?: number
  /** Nothing may take longer; what is not done by then is lost. */
  readonly limitMs: number
  readonly tell?: (line: string) => void
}

/** One wipe that deleted hints, and what came of it. */
export interface Wipe {
  readonly hints: number
  /** Its row in regrow.heals; null: nobody declared it. */
  readonly heal: Heal | null
  /** From the wipe to that row. */
  readonly noticedMs: number | null
  /** From the wipe to the first start of a key whose hint was wiped; null: none started before the next wipe. */
  readonly startedMs: number | null
}

/** A row of regrow.heals. */
export interface Heal {
  readonly epoch: number
  readonly at: number
  readonly how: string
  readonly pushed: number
  readonly tookMs: number | null
}

export interface WipeResult extends WipeVerdict {
  readonly wipes: readonly Wipe[]
  readonly heals: readonly Heal[]
  readonly kills: number
  readonly starts: number
  readonly seconds: number
  readonly processes: number
  /** Workers that ended by themselves, in words. */
  readonly surprises: readonly string[]
  readonly troubles: readonly [string, number][]
}

interface Done {
  readonly at: number
  readonly keys: ReadonlySet<string>
}

export async function wipeRun(options: WipeOptions): Promise<WipeResult> {
  const { url, folder, build, leaseMs, concurrency, batch, takesMs, tell = () => {} } = options
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(wipeTables)
  await client.query(fillRows, [options.rows])
  await client.query('analyze rows')
  const app = regrow({ store: postgres(url) })
  await operate(app).migrate()
  await app.close()
  const crew = new Crew(fileURLToPath(new URL('./worker.mjs', import.meta.url)))
  const began = performance.now()
  try {
    const settings: WipeWorkerSettings = { build, store: { url }, leaseMs, folder, concurrency, batch, takesMs }
    for (let place = 0; place < options.workers; place++) crew.add(settings)
    await crew.complete()
    const wiped = await underFaults(options, client, crew, tell)
    const seconds = (performance.now() - began) / 1_000
    await crew.close()
    const heals = await healsOf(client)
    const notes = readWorkerNotes(folder)
    const starts = notes.filter(({ word }) => word === 'start')
    return {
      ...((await client.query(verdictOf)).rows[0] as WipeVerdict),
      wipes: wiped.map((wipe, n) => cameOf(wipe, wiped[n + 1]?.at ?? Number.POSITIVE_INFINITY, heals, starts)),
      heals,
      kills: crew.killedAt.length,
      starts: starts.length,
      seconds,
      processes: crew.started,
      surprises: crew.surprises,
      troubles: troubles(notes),
    }
  } finally {
    await crew.close()
    await client.end()
  }
}

/** Wipes and kills until nothing is pending; answers the wipes. */
async function underFaults(options: WipeOptions, client: pg.Client, crew: Crew, tell: (line: string) => void) {
  const { wipesMax = Number.POSITIVE_INFINITY, wipeEveryMs, limitMs } = options
  const until = performance.now() + limitMs
  const counts = noFaults()
  const calm = new AbortController()
  const { signal } = calm
  const kills = { everyMs: options.killEveryMs, leaseMs: options.leaseMs, counts, signal, kinds: ['kill'] as const }
  const killing = faults(crew, new Seeded(options.seed), kills)
  const wiped: Done[] = []
  let nextWipe = performance.now() + wipeEveryMs
  for (let left = options.rows; left > 0 && performance.now() < until; ) {
    await sleep(Math.min(200, Math.max(0, nextWipe - performance.now())))
    if (wiped.length >= wipesMax) calm.abort()
    else if (performance.now() >= nextWipe) {
      const wipe = await wipeNow(client)
      // A queue that is empty at the moment is no wipe: it is looked at again at once.
      if (wipe.keys.size > 0) {
        wiped.push(wipe)
        nextWipe += wipeEveryMs
        tell(`wipe ${wiped.length}: ${wipe.keys.size} hints; kills ${counts.kills}, pending ${left}`)
      } else nextWipe = performance.now() + 20
    }
    left = (await client.query(pendingRows)).rows[0].n
  }
  calm.abort()
  await killing
  return wiped
}

/** What `queue.wipe()` does, and which keys it was; the mark stays where there was no hint to wipe. */
async function wipeNow(client: pg.Client): Promise<Done> {
  const { rows } = await client.query(`
    with gone as (delete from regrow.hints returning key),
    mark as (delete from regrow.canary where exists (select 1 from gone))
    select array(select key from gone) as keys, (extract(epoch from clock_timestamp()) * 1000)::float8 as at`)
  return { at: rows[0].at, keys: new Set(rows[0].keys) }
}

function cameOf(
  wipe: Done,
  nextAt: number,
  heals: readonly Heal[],
  starts: readonly { at: number; rest: string }[],
): Wipe {
  const within = (at: number) => at >= Math.floor(wipe.at) && at < nextAt
  const heal = heals.find(({ at }) => within(at))
  const start = starts.find(({ at, rest }) => within(at) && wipe.keys.has(rest))
  return {
    hints: wipe.keys.size,
    heal: heal ?? null,
    noticedMs: heal ? heal.at - wipe.at : null,
    startedMs: start ? start.at - wipe.at : null,
  }
}

async function healsOf(client: pg.Client): Promise<Heal[]> {
  const { rows } = await client.query(`
    select epoch::int as epoch, (extract(epoch from at) * 1000)::float8 as at, how, pushed::int as pushed,
      (extract(epoch from ended_at - at) * 1000)::float8 as "tookMs"
    from regrow.heals order by id`)
  return rows as Heal[]
}
