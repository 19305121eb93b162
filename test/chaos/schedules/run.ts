// Workers with schedules of every second: one of them is killed -9 and replaced every few seconds, and the queue wiped; then
// they stop, and every instant is counted. `npm run chaos -- schedules` judges it.

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { regrow } from '../../../src/index.ts'
import { operate } from '../../../src/operate/index.ts'
import { Seeded } from '../../../src/testing/seeded.ts'
import { Crew } from '../../processes/crew.ts'
import { faults, noFaults } from '../faults.ts'
import { type Note, readWorkerNotes, troubles } from '../notes.ts'
import { countSlots, type ScheduleCount } from './count.ts'

export interface ScheduleRunOptions {
  /** A build of the sources, for the workers. */
  readonly build: string
  /** An empty database. */
  readonly url: string
  /** Undefined: the queue beside Postgres. */
  readonly redisUrl: string | undefined
  /** An empty folder for what the workers write. */
  readonly folder: string
  readonly workers: number
  readonly leaseMs: number
  /** What a handler takes, on average. */
  readonly takesMs: number
  readonly seconds: number
  /** 0: never. */
  readonly killEveryMs: number
  /** All workers at once, instead of a random one. */
  readonly killsAll: boolean
  readonly wipeEveryMs: number
  readonly wipe: () => Promise<void>
  readonly seed: number
  readonly tell?: (line: string) => void
}

export interface ScheduleRunResult {
  readonly counts: readonly ScheduleCount[]
  /** From an instant to the start of its handler, the first one, of slots that were hinted ahead. */
  readonly delays: readonly number[]
  readonly kills: number
  readonly wipes: number
  readonly starts: number
  readonly audits: number
  readonly orphans: number
  readonly surprises: readonly string[]
  readonly troubles: readonly [string, number][]
}

/** The schedules of schedule-worker.mjs. */
const schedules = ['tick', 'tick.all']
const everyMs = 1_000
/** The next instants after the last fault need no repair; and a lease, for what a killed worker had begun. */
const calmMs = 4_000

export async function scheduleRun(options: ScheduleRunOptions): Promise<ScheduleRunResult> {
  const { url, folder, build, redisUrl, leaseMs, takesMs, killEveryMs, tell = () => {} } = options
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create table effects (schedule text not null, slot timestamptz not null, pid int not null)`)
  const app = regrow({ store: postgres(url) })
  await operate(app).migrate()
  await app.close()
  const crew = new Crew(fileURLToPath(new URL('./worker.mjs', import.meta.url)))
  const calm = new AbortController()
  try {
    for (let place = 0; place < options.workers; place++) crew.add({ build, url, redisUrl, leaseMs, folder, takesMs })
    await crew.complete()
    const { signal } = calm
    const counts = noFaults()
    const kills = { everyMs: killEveryMs, leaseMs, counts, signal, kinds: ['kill'] as const }
    const killing =
      killEveryMs === 0
        ? undefined
        : options.killsAll
          ? killAll(crew, killEveryMs, signal)
          : faults(crew, new Seeded(options.seed), kills)
    const wipes = await wipeUntil(performance.now() + options.seconds * 1_000, options, (line) =>
      tell(`${line}; kills ${crew.killedAt.length}`),
    )
    calm.abort()
    await killing
    // What was begun by the last one that was killed is begun again.
    await sleep(killEveryMs > 0 ? calmMs + 2 * leaseMs : everyMs)
    await crew.close()
    const endMs = Date.now()
    const notes = readWorkerNotes(folder)
    const starts = notes.filter(({ word }) => word === 'start').map(startOf)
    return {
      counts: await Promise.all(
        schedules.map((name) => {
          const started = new Set(starts.flatMap(({ schedule, slotMs }) => (schedule === name ? [slotMs] : [])))
          return countSlots(client, name, { everyMs, endMs, started })
        }),
      ),
      delays: delaysOf(starts),
      kills: crew.killedAt.length,
      wipes,
      starts: starts.length,
      audits: notes.filter(({ word }) => word === 'audited').length,
      orphans: notes.reduce((sum, { word, rest }) => sum + (word === 'audited' ? Number(rest.split(' ')[1]) : 0), 0),
      surprises: crew.surprises,
      troubles: troubles(notes),
    }
  } finally {
    calm.abort()
    await crew.close()
    await client.end()
  }
}

async function killAll(crew: Crew, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal }).catch(() => {})
    if (!signal.aborted) for (const member of crew.working) crew.kill(member)
  }
}

async function wipeUntil(
  untilMs: number,
  { wipeEveryMs, wipe }: ScheduleRunOptions,
  tell: (line: string) => void,
): Promise<number> {
  let wipes = 0
  for (;;) {
    const leftMs = untilMs - performance.now()
    await sleep(Math.max(0, wipeEveryMs > 0 ? Math.min(wipeEveryMs, leftMs) : leftMs))
    if (performance.now() >= untilMs) return wipes
    await wipe()
    wipes++
    tell(`wipe ${wipes}`)
  }
}

interface Start {
  readonly schedule: string
  readonly slotMs: number
  readonly at: number
}

const startOf = ({ at, rest }: Note): Start => {
  const [schedule = '', slot] = rest.split(' ')
  return { schedule, slotMs: Number(slot), at }
}

/** The first start of each slot; a slot of the moment at which its schedule was made had no time to be hinted ahead. */
function delaysOf(starts: readonly Start[]): number[] {
  const first = new Map<string, number>()
  for (const { schedule, slotMs, at } of starts) {
    const slot = `${schedule} ${slotMs}`
    if (!first.has(slot)) first.set(slot, at - slotMs)
  }
  return [...first.values()]
}
