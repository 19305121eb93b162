// What examinations are made of: a row of their own, and a bound in which something must be so.
import type { Calm } from './calm.ts'
import { type Deed, type Part, render, ship } from './cast.ts'
import type { WriteRow } from './script.ts'
import type { SimWorld } from './world.ts'

/** One thing that is tried in calm weather, and must end as it says. */
export type Examination = (world: SimWorld, calm: Calm) => Promise<void>

/** A new row, written now. */
export function write(
  world: SimWorld,
  part: Part,
  deed: Deed,
  enqueue: WriteRow['enqueue'],
  key = keyOf(world, part),
  heldMs = 0,
): WriteRow['key'] {
  void world.user.act({ kind: 'write', atMs: 0, part, key, deed, inMs: null, heldMs, enqueue })
  return key
}

/** The last number of a key that was given out. */
const last = new WeakMap<SimWorld, number>()

function keyOf(world: SimWorld, part: Part): WriteRow['key'] {
  const number = (last.get(world) ?? 1_000) + 1
  last.set(world, number)
  return part === render
    ? { value: BigInt(number), text: String(number), odd: false }
    : { value: `x${number}`, text: `x${number}`, odd: false }
}

/** True when somebody who lives has the handler. */
export const ableTo = ({ fleet }: SimWorld, part: Part) => fleet.working().some(({ jobs }) => jobs.includes(part.name))

/** True when the row is marked as done. */
export const isDone = ({ db }: SimWorld, part: Part, key: string) => db.rows(part.table).get(key)?.state === 'done'

/** Waits until `done`; false when that took longer than `boundMs`. A violation ends the wait. */
export async function within(world: SimWorld, boundMs: number, done: () => boolean): Promise<boolean> {
  const { kernel, oracle } = world
  return kernel.run(() => oracle.violations.length > 0 || done(), boundMs)
}

/** The bound of a whole pass; behind a queue of one's own each process looks every five seconds. */
export const passMs = ({ plan }: SimWorld) => Math.max(1.1 * plan.sweepMs, 6_500) + 2_500

/** Waits until nothing runs: what the examination before has left would keep the slots. */
export async function rested(world: SimWorld): Promise<void> {
  const { fleet, oracle, db } = world
  const waits = ({ name, table }: Part) =>
    [...db.rows(table)].some(
      ([key, { state }]) => state === 'pending' && db.ledger.get(`${name}\u0000${key}`)?.state !== 'quarantined',
    )
  const busy = () =>
    [ship, render].some(waits) || fleet.working().some(({ process }) => (oracle.running.get(process)?.size ?? 0) > 0)
  await within(world, 20_000, () => !busy())
}
