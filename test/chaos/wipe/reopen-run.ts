// One process with a PGlite and its queue in memory, killed -9 and reopened again and again: each kill loses the queue. Ends
// when nothing is pending; then it counts. `npm run chaos -- wipe` judges it.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { pglite } from '../../../src/drivers/pglite/index.ts'
import { regrow } from '../../../src/index.ts'
import { operate } from '../../../src/operate/index.ts'
import { Crew } from '../../processes/crew.ts'
import { type Note, readWorkerNotes, troubles } from '../notes.ts'
import { fillRows, verdictOf, type WipeVerdict, type WipeWorkerSettings, wipeTables } from './jobs.ts'

export interface ReopenOptions {
  /** A build of the sources, for the workers. */
  readonly build: string
  /** An empty folder for the database and for what the workers write. */
  readonly folder: string
  readonly rows: number
  readonly concurrency: number
  readonly batch: number
  readonly takesMs: number
  readonly leaseMs: number
  /** From the first start of a process to its kill. */
  readonly killEveryMs: number
  /** Kills end after so many. Defaults to no such end. */
  readonly killsMax?: number
  /** Nothing may take longer; what is not done by then is lost. */
  readonly limitMs: number
  readonly tell?: (line: string) => void
}

/** One kill, and how long each step back took, in ms. */
export interface Reopened {
  /** From the kill until the new process runs its first line. */
  readonly spawnMs: number
  /** From there until the store is open: modules, PGlite and its recovery, regrow's tables. */
  readonly openMs: number
  /** From there until the first start of a key: registering, sweeping, pop, take and check. */
  readonly healMs: number
  /** From the kill until the first start. */
  readonly totalMs: number
}

export interface ReopenResult extends WipeVerdict {
  readonly kills: number
  readonly reopened: readonly Reopened[]
  readonly starts: number
  readonly seconds: number
  readonly surprises: readonly string[]
  readonly troubles: readonly [string, number][]
}

export async function reopenRun(options: ReopenOptions): Promise<ReopenResult> {
  const { build, leaseMs, concurrency, batch, takesMs } = options
  const directory = join(options.folder, 'pglite')
  const folder = join(options.folder, 'notes')
  mkdirSync(folder)
  await inDirectory(directory, async (db) => {
    await db.exec(wipeTables)
    await db.query(fillRows, [options.rows])
    await db.exec('analyze rows')
    await operate(regrow({ store: pglite(db) })).migrate()
  })
  const crew = new Crew(fileURLToPath(new URL('./worker.mjs', import.meta.url)))
  const began = performance.now()
  try {
    const settings: WipeWorkerSettings = { build, store: { directory }, leaseMs, folder, concurrency, batch, takesMs }
    crew.add(settings)
    await crew.complete()
    await underKills(options, crew)
    const seconds = (performance.now() - began) / 1_000
    await crew.close()
    const notes = readWorkerNotes(folder)
    return {
      ...(await inDirectory(directory, async (db) => (await db.query<WipeVerdict>(verdictOf)).rows[0] as WipeVerdict)),
      kills: crew.killedAt.length,
      reopened: crew.killedAt.flatMap((at) => reopened(notes, at)),
      starts: notes.filter(({ word }) => word === 'start').length,
      seconds,
      surprises: crew.surprises,
      troubles: troubles(notes),
    }
  } finally {
    await crew.close()
  }
}

async function inDirectory<T>(directory: string, work: (db: PGlite) => Promise<T>): Promise<T> {
  const db = new PGlite(directory)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** Kills until nothing is pending, as the process itself tells; counted from its first start. */
async function underKills(options: ReopenOptions, crew: Crew): Promise<void> {
  const { killsMax = Number.POSITIVE_INFINITY, killEveryMs, limitMs, tell = () => {} } = options
  const until = performance.now() + limitMs
  let left = options.rows
  crew.heard = (message) => {
    left = (message as { left: number }).left
  }
  let killAt = performance.now() + killEveryMs
  for (; left > 0 && performance.now() < until; await sleep(20)) {
    const kills = crew.killedAt.length
    const [member] = crew.working
    if (!member) killAt = performance.now() + killEveryMs
    else if (performance.now() >= killAt && kills < killsMax) {
      crew.kill(member)
      tell(`kill ${kills + 1}: pending ${left}`)
    }
  }
}

/** The steps after a kill; none when the run ended before a key started. */
function reopened(notes: readonly Note[], killedAt: number): Reopened[] {
  const begun = notes.find(({ at, word }) => word === 'begun' && at >= killedAt)
  const open = begun && notes.find(({ at, word }) => word === 'open' && at >= begun.at)
  const start = open && notes.find(({ at, word }) => word === 'start' && at >= open.at)
  if (!start) return []
  return [
    {
      spawnMs: begun.at - killedAt,
      openMs: open.at - begun.at,
      healMs: start.at - open.at,
      totalMs: start.at - killedAt,
    },
  ]
}
