// What happens in a scripted scenario, each at its moment: users write and enqueue, operators pause and release, servers are
// lost. Nothing here is drawn: a scenario is the same every time it is played.

import type { Duration } from '../../src/base/duration.ts'
import type { DrainOptions } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import type { Deed, Part } from './cast.ts'
import { mail } from './cast.ts'
import type { Member } from './fleet.ts'
import { handed, report } from './recurring.ts'
import type { RecordIntent, WriteRow } from './script.ts'
import { beginningMs } from './sim-process.ts'
import type { SimWorld } from './world.ts'

/** Where an act takes place. */
export interface Ground {
  readonly world: SimWorld
  /** The process under test, or who has its place; undefined while there is none. */
  readonly mortal: () => Member | undefined
  /** Starts a process that nothing will happen to. */
  readonly deploy: () => void
}

/** Something that happens in a scenario. */
export interface Act {
  /** A moment in ms; or the first port event of that name, as in `ledger.take heard`. */
  readonly when: number | string
  readonly play: (ground: Ground) => unknown
}

/** How a row is written, where that matters. */
export interface Writing {
  /** Defaults to after the commit. */
  readonly enqueue?: WriteRow['enqueue']
  /** When the row says that it runs, from now. Defaults to at once. */
  readonly inMs?: number
  /** How long its transaction stays open. Defaults to 0. */
  readonly heldMs?: number
}

/** A user writes the row of a key, by its place in the cast; the process under test enqueues it. */
export function writes(when: Act['when'], part: Part, place: number, deed: Deed, how: Writing = {}): Act {
  const { enqueue = 'after', inMs = null, heldMs = 0 } = how
  const key = part.keys[place] as Part['keys'][number]
  const hint = ({ mortal }: Ground) => {
    const member = mortal()
    member?.process.hear(() => {
      void member.declared
        .get(part.name)
        ?.enqueue(key.value)
        .catch(() => {})
    })
  }
  return {
    when,
    play: async (ground) => {
      if (enqueue === 'before') hint(ground)
      await ground.world.user.act({ kind: 'write', atMs: 0, part, key, deed, inMs, heldMs, enqueue: 'never' })
      if (enqueue === 'after') hint(ground)
    },
  }
}

/** A user removes a row. */
export function removes(when: Act['when'], part: Part, place: number): Act {
  const key = part.keys[place] as Part['keys'][number]
  return { when, play: ({ world }) => world.user.act({ kind: 'remove', atMs: 0, part, key }) }
}

/** Whoever asked for an intent and got no answer asks once more so much later, with the same id. */
const askAgainMs = 3_000

/** The process under test records an intent; if it does not live to say so, its client asks another one. */
export function records(when: Act['when'], number: number, deed: Deed, { inMs = 0, heldMs = 0 } = {}): Act {
  const id = `00000000-0000-7000-8000-00000000000${number}`
  // For the same moment as before.
  const leftMs = Math.max(0, inMs - askAgainMs)
  const again: RecordIntent = { kind: 'intent', atMs: 0, part: mail, id, deed, inMs: leftMs, heldMs: 0 }
  return {
    when,
    play: async ({ world, mortal }) => {
      const { kernel, user } = world
      const dueMs = beginningMs + kernel.now() + inMs
      user.standing.set(`${mail.name}\u0000${id}`, { deed, generation: 1, removed: false, dueMs })
      let recorded = false
      const member = mortal()
      member?.process.hear(() => {
        void recordThrough(world, member, { ...again, inMs, heldMs }).then(
          () => {
            recorded = true
          },
          () => {},
        )
      })
      await kernel.passed(askAgainMs)
      if (!recorded) await user.act(again)
    },
  }
}

function recordThrough({ kernel }: SimWorld, { app, declared }: Member, intent: RecordIntent) {
  const { id, deed, inMs, heldMs } = intent
  const job = declared.get(mail.name) as NonNullable<ReturnType<Member['declared']['get']>>
  if (heldMs === 0) return job.enqueue({ deed }, { id, in: inMs })
  return app.transaction(async (tx) => {
    await job.enqueue({ deed }, { id, in: inMs, tx })
    await kernel.passed(heldMs)
  })
}

/** An operator pauses a job and resumes it `ms` later. */
export function pauses(when: Act['when'], part: Part, ms: number): Act {
  return {
    when,
    play: async ({ world: { user, kernel } }) => {
      await user.operate((app) => app.pause(part.name, { reason: 'the scenario says so' }))
      await kernel.passed(ms)
      await user.operate((app) => app.resume(part.name))
    },
  }
}

/**
 * What was wrong with an intent is mended, and an operator releases it from quarantine once it is there. Not before the client
 * of the intent has asked for the second time: after the release that would be new work, as bad as the old.
 */
export function releases(when: Act['when'], number: number): Act {
  const id = `00000000-0000-7000-8000-00000000000${number}`
  return {
    when,
    play: async ({ world: { user, kernel, db } }) => {
      const name = `${mail.name}\u0000${id}`
      while (db.ledger.get(name)?.state !== 'quarantined') await kernel.passed(100)
      const known = user.standing.get(name)
      if (known) user.standing.set(name, { ...known, deed: 'ok' })
      await user.operate((app) => operate(app).quarantine.release(mail.name, id))
    },
  }
}

/** The process under test drains, beside its worker. */
export function drains(when: Act['when'], options: DrainOptions = {}): Act {
  return {
    when,
    play: ({ mortal, world }) => {
      const member = mortal()
      const { handlers, app, process } = member ?? {}
      if (!handlers || !app) return
      process?.hear(() => {
        void app
          .drain({ handlers, concurrency: world.plan.concurrency, ...options })
          .then((report) => world.trace.tell(process.name, 'drained', () => JSON.stringify(report)))
          .catch(() => {})
      })
    },
  }
}

/** A deploy: the process under test is told to stop while another one starts. */
export function stops(when: Act['when'], grace: Duration): Act {
  return {
    when,
    play: async ({ mortal, deploy }) => {
      const member = mortal()
      if (member) member.leaving = true
      deploy()
      void member?.worker
        ?.stop({ grace })
        .catch(() => {})
        .then(() => member.process.kill())
    },
  }
}

/** The queue loses everything. */
export function wipes(when: Act['when']): Act {
  return { when, play: ({ world: { server } }) => server?.queue.wipe() }
}

/** A server is away for `ms`. */
export function goesDown(when: Act['when'], which: 'queue' | 'store', how: 'refuses' | 'hangs', ms: number): Act {
  return {
    when,
    play: async ({ world: { network, kernel } }) => {
      network.servers[which].down = how
      await kernel.passed(ms)
      network.servers[which].down = false
    },
  }
}

/** The store crashes, and is back after `ms`; what was committed and is not on disk yet is lost, or all was on disk. */
export function restarts(when: Act['when'], ms: number, lost: 'all' | 'none'): Act {
  return {
    when,
    play: async ({ world: { network, kernel, db } }) => {
      const { store } = network.servers
      db.restart((commits) => (lost === 'all' ? commits : 0))
      store.lives++
      store.down = 'refuses'
      await kernel.passed(ms)
      store.down = false
    },
  }
}

/** Schedules go on until then, and until rows tell of every instant so far; then they are ended, and all is counted. */
export function recurs(untilMs: number): Act {
  return {
    when: 0,
    play: async ({ world: { kernel, timetable, db, user } }) => {
      await kernel.passed(untilMs)
      while (db.schedules.size === 0 || timetable.missing(quickMs) > 0) await kernel.passed(100)
      for (const { name } of db.schedules.values()) await user.operate((app) => operate(app).schedules.end(name))
      timetable.account(() => false, 0)
    },
  }
}

/** Of an instant that just was, the slot may still be the next to be made. */
const quickMs = 1_000

/** A schedule is made at run time, for inputs. */
export function schedulesReport(when: Act['when'], every: string): Act {
  const options = { every: every as Duration, job: report.name, input: { deed: 'ok' } }
  return { when, play: ({ world: { user } }) => user.operate((app) => operate(app).schedules.add(handed, options)) }
}

/** A person pauses a schedule and resumes it `ms` later. */
export function pausesSchedule(when: Act['when'], name: string, ms: number): Act {
  return {
    when,
    play: async ({ world: { user, kernel, db } }) => {
      while (!db.schedules.has(name)) await kernel.passed(100)
      await user.operate((app) => operate(app).schedules.pause(name, { reason: 'the scenario says so' }))
      await kernel.passed(ms)
      await user.operate((app) => operate(app).schedules.resume(name))
    },
  }
}
