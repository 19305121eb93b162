// What upsets the store and is no outage: tables of regrow's that are emptied or come back from an old copy, and a clock that is set back
// or jumps ahead. Drawn apart from the plan, so that a seed plays the same with and without them.
import { type Blow, Draw } from './plan.ts'
import type { Action } from './script.ts'
import { seededRandom } from './seeded-random.ts'
import type { OwnTable } from './store/database.ts'
import type { SimWorld } from './world.ts'

export type UpsetKind = 'table emptied' | 'tables restored' | 'clock set back' | 'clock ahead'

const kinds: readonly UpsetKind[] = ['table emptied', 'tables restored', 'clock set back', 'clock ahead']
/** What workers declare, and make again. */
const tables: readonly OwnTable[] = ['sweeps', 'pulse', 'workers']
/** Less than a lease, some minutes, an hour. */
const stepsMs = [2_000, 15_000, 180_000, 3_600_000]

/** `recurs`: of instants one row tells, by one clock; that is for tests of schedules. */
export function upsetsOf(seed: number, stormMs: number, recurs: boolean): Blow[] {
  const draw = new Draw(seededRandom(seed * 13 + 9))
  return kinds
    .filter((kind) => draw.chance(0.2) && !(recurs && isOfTheClock(kind)))
    .flatMap((kind) =>
      Array.from({ length: draw.whole(1, 2) }, () => ({
        kind,
        atMs: draw.between(0, stormMs),
        ms: draw.between(1_000, 8_000),
      })),
    )
}

export const isOfTheClock = (kind: string): boolean => kind === 'clock set back' || kind === 'clock ahead'

/** Rows that say when they run were written by the clock of that moment: nobody can tell which one is meant. */
export const undated = (action: Action): Action =>
  action.kind === 'write' ? { ...action, inMs: null } : action.kind === 'intent' ? { ...action, inMs: 0 } : action

/** L10: what workers declare is there, and due within its interval, whatever became of the tables and of the clock. */
export function checkDeclared(world: SimWorld, jobs: readonly string[]): void {
  const { db, oracle, plan } = world
  if (!plan.blows.some(({ kind }) => (kinds as readonly string[]).includes(kind))) return
  for (const job of jobs) {
    const nextAt = db.sweeps.get(job)?.nextAt ?? Number.POSITIVE_INFINITY
    const waitMs = nextAt - world.nowMs()
    oracle.check('L10', waitMs <= 1.1 * plan.sweepMs + 1, () => `the next sweep of ${job} is due in ${waitMs} ms`)
  }
}

export function upset(world: SimWorld, { kind, ms }: Blow & { readonly kind: UpsetKind }): void {
  const { db, kernel, tally, draw } = world
  const stepMs = draw.of(stepsMs)
  if (kind === 'table emptied') {
    tally.fault('table emptied')
    db.empty?.(draw.of(tables))
  } else if (kind === 'tables restored') {
    const restore = db.copy?.(tables)
    kernel.after(ms, () => {
      if (world.calm) return
      tally.fault('tables restored')
      restore?.()
    })
  } else {
    tally.fault(kind === 'clock ahead' ? "store's clock jumped ahead" : "store's clock set back")
    world.aheadMs += kind === 'clock ahead' ? stepMs : -stepMs
  }
}
