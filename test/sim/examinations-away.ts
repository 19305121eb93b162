// What goes on while a server is away, or does not answer one call, and that it is noticed when it is back.
import { bill, ship } from './cast.ts'
import { ableTo, type Examination, isDone, rested, within, write } from './examination.ts'
import type { SimProcess } from './sim-process.ts'

/** L2: while the queue is down each process sweeps for itself; when it is back, all of them use it again. */
const queueDown: Examination = async (world) => {
  const { oracle, network, kernel, draw, fleet, told, server, tally } = world
  if (!server || !ableTo(world, ship)) return
  await rested(world)
  const since = kernel.now()
  const tell = (event: 'queue.down' | 'queue.up') =>
    new Set(told.filter((each) => each.event === event && each.atMs >= since).map(({ process }) => process))
  const working = fleet.working().map(({ process }) => process)
  tally.fault('queue down')
  network.servers.queue.down = draw.of(['refuses', 'hangs'] as const)
  const noticed = await within(world, 12_000, () => working.every((process) => tell('queue.down').has(process)))
  oracle.check('S16', noticed, () => 'not everybody noticed in 12 s that the queue is down')
  const key = write(world, ship, 'ok', 'never').text
  const found = await within(world, 6_500, () => isDone(world, ship, key))
  oracle.check('L2', found, () => 'with the queue down a row has not run after 6.5 s')
  network.servers.queue.down = false
  const back = await within(world, 6_500, () => working.every((process) => tell('queue.up').has(process)))
  oracle.check('L2', back, () => 'not everybody noticed in 6.5 s that the queue is back')
}

/** S16: a beat that gets no answer costs nobody the lease. */
const beatUnanswered: Examination = async (world) => {
  const { oracle, network, draw, fleet, plan, db } = world
  const member = fleet.working().length > 0 ? draw.of(fleet.working()) : undefined
  // With a short lease the watchdog's look, each second, comes too late to keep it.
  if (!member || plan.leaseMs < 6_000) return
  const ageMs = (id: string) => world.nowMs() - (db.workers.get(id)?.beatAt ?? 0)
  const living = [...db.workers.keys()].filter((id) => ageMs(id) < plan.leaseMs / 2)
  let muted = false
  network.mute = (from, name) => {
    if (muted || from !== member.process || name !== 'workers.beat') return false
    muted = true
    return true
  }
  let oldest = 0
  await within(world, 2 * plan.leaseMs, () => {
    oldest = Math.max(oldest, ...living.map(ageMs))
    return false
  })
  network.mute = () => false
  oracle.check(
    'S16',
    oldest <= plan.leaseMs,
    () => `one beat got no answer, and the next was ${oldest} ms after the last`,
  )
}

/** L5: what a frozen worker took is run by another. When it wakes after its lease it starts nothing (S2), and commits nothing (S4). */
const frozen: Examination = async (world) => {
  const { oracle, network, fleet, plan, tally, trace, draw } = world
  const able = fleet.working().filter(({ jobs }) => jobs.includes(ship.name))
  if (able.length < 2) return
  await rested(world)
  const took = new Set<SimProcess>()
  const starts = draw.chance(0.5)
  let sleeper: SimProcess | undefined
  network.mute = (from, name) => {
    if (name === 'ledger.take') took.add(from)
    // Between its take and its start, or before it commits what it did.
    if (!sleeper && name === (starts ? 'begin' : `source(${ship.name}).check`) && took.has(from)) {
      sleeper = from
      from.freeze()
    }
    return false
  }
  const key = write(world, ship, 'ok', 'after').text
  const boundMs = 2 * plan.leaseMs + 1.1 * plan.sweepMs + 6_000
  const done = await within(world, boundMs, () => isDone(world, ship, key))
  network.mute = () => false
  oracle.check('L5', done, () => `what a frozen worker took is not done after ${boundMs} ms`)
  if (!sleeper) return
  tally.fault('process woke after its lease')
  trace.tell(sleeper.name, 'wakes up')
  sleeper.thaw()
  await within(world, 3_000, () => false)
}

/** L9: a fence that the store does not answer in time is nobody's failure: the key runs again. */
const fenceUnanswered: Examination = async (world) => {
  const { oracle, network } = world
  if (!ableTo(world, ship)) return
  await rested(world)
  let late = false
  network.late = (_, name) => {
    if (late || name !== 'ledger.settle') return false
    late = true
    return true
  }
  const key = write(world, ship, 'ok', 'after').text
  const done = await within(world, 60_000, () => isDone(world, ship, key))
  network.late = () => false
  oracle.check('L9', done, () => 'what the store did not settle in time is not done after a minute')
}

const crowd = 4_000

/**
 * L4: a queue that is lost again while the pass after the first loss is under way: the next one begins at the beginning, not at
 * its cursor (M42). With so many rows that a ramped pass takes seconds; none of them is due before they are gone again.
 */
const lostTwice: Examination = async (world) => {
  const { server, oracle, plan, db, told, kernel } = world
  if (!server || plan.bounds.maxHints !== undefined || plan.sweepMs < 6_000 || !ableTo(world, bill)) return
  await rested(world)
  const keys = Array.from({ length: crowd }, (_, i) => JSON.stringify(['9', `z${i}`]))
  const rows = db.begin()
  const runAtMs = world.nowMs() + 1.2 * plan.sweepMs
  for (const key of keys) await rows.put(bill.table, key, { state: 'pending', generation: 1, runAtMs })
  await rows.commit()
  const since = kernel.now()
  const isLost = () => told.some(({ event, atMs }) => event === 'queue.lost' && atMs >= since)
  server.queue.wipe()
  const noticed = await within(world, 2_500, isLost)
  oracle.check('L4', noticed, () => 'nobody noticed in 2.5 s that the queue was wiped')
  await within(world, 1_500, () => false)
  // Losses are declared two seconds apart.
  server.queue.wipe()
  await within(world, 2_000, () => false)
  const gone = db.begin()
  for (const key of keys) await gone.remove(bill.table, key)
  await gone.commit()
  server.queue.lose(() => true)
}

export const awayExaminations: readonly Examination[] = [queueDown, beatUnanswered, frozen, fenceUnanswered, lostTwice]
