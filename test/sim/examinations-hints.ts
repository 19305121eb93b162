// What becomes of hints that start nothing when they are popped: they come in time, and not with the next sweep.
import { ship } from './cast.ts'
import { ableTo, type Examination, isDone, passMs, rested, within, write } from './examination.ts'

/** L3: a key that is enqueued while it waits for its next attempt has that in time. */
const backedOff: Examination = async (world) => {
  const { oracle, fleet, db, server } = world
  if (!server || !ableTo(world, ship)) return
  await rested(world)
  const key = write(world, ship, 'fails twice', 'after')
  const row = () => db.ledger.get(`${ship.name}\u0000${key.text}`)
  const failed = await within(world, 6_000, () => row()?.failures === 1 && row()?.holder === null)
  oracle.check('L3', failed, () => 'a row that was enqueued has not run after 6 s')
  if (!failed) return
  const waitMs = (row()?.retryAt ?? 0) - world.nowMs()
  void fleet
    .working()[0]
    ?.declared.get(ship.name)
    ?.enqueue(key.value)
    .catch(() => {})
  const started = () => oracle.story(ship.name, key.text).starts >= 2
  await within(world, waitMs, started)
  // Now it is due. A queue without room for its hint (S11) leaves it to the sweep, as any row that has none; nothing else does.
  const boundMs = server.queue.wasDropped(ship.name, key.text) ? passMs(world) : 1_000
  const again = await within(world, boundMs, started)
  oracle.check('L3', again, () => `a row that was enqueued in its back-off has not started ${boundMs} ms after that`)
}

/** L3: a key that is enqueued a moment before its row is committed runs soon after that. */
const tooEarly: Examination = async (world) => {
  const { oracle, server } = world
  if (!server || !ableTo(world, ship)) return
  await rested(world)
  const key = write(world, ship, 'ok', 'before', undefined, 600)
  const found = await within(world, 2_500, () => isDone(world, ship, key.text))
  oracle.check('L3', found, () => 'a row that was enqueued 0.6 s before its commit waits for a sweep')
}

export const hintExaminations: readonly Examination[] = [backedOff, tooEarly]
