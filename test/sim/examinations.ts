// Single losses in calm weather, each with its bound: how soon a row without a hint, a lost queue, a dead worker or a stopped
// one is made good. Keys are of their own, so that they depend on nothing before.

import { render, ship } from './cast.ts'
import { ableTo, type Examination, isDone, passMs, rested, within, write } from './examination.ts'
import { awayExaminations } from './examinations-away.ts'
import { hintExaminations } from './examinations-hints.ts'

/** L3: a row that nobody enqueued is found by the next pass. */
const unhinted: Examination = async (world) => {
  const { oracle } = world
  if (!ableTo(world, ship)) return
  const key = write(world, ship, 'ok', 'never').text
  const found = await within(world, passMs(world), () => isDone(world, ship, key))
  oracle.check('L3', found, () => `a row without a hint has not run after ${passMs(world)} ms`)
}

/** L3: a row that is written again while its handler runs, and enqueued, runs again soon and not at the next sweep. */
const changed: Examination = async (world) => {
  const { oracle, tally, server } = world
  // Behind queues of their own an enqueue of another process reaches nobody.
  if (!server || !ableTo(world, render)) return
  const key = write(world, render, 'slow', 'after')
  const runs = await within(world, 6_000, () => oracle.isRunning(render.name, key.text))
  oracle.check('L3', runs, () => 'a row that was enqueued does not run after 6 s')
  if (!runs) return
  tally.fault('row changed while its handler ran')
  write(world, render, 'ok', 'after', key)
  await within(world, 1_000, () => world.user.generationOf(render.name, key.text) === 2)
  await within(world, 8_000, () => !oracle.isRunning(render.name, key.text))
  // Not more than a second and a half after the first run: a sweep would be later in most histories.
  const again = await within(
    world,
    2_500,
    () => isDone(world, render, key.text) && oracle.effects(render.name, key.text, 2) === 1,
  )
  oracle.check('L3', again, () => 'a row that was enqueued while it ran waits for a sweep')
}

/** L4: a queue that is wiped, or comes back from an old copy, is noticed at once, and what it held is back. */
const lost: Examination = async (world) => {
  const { server, oracle, kernel, draw, told } = world
  if (!server || !ableTo(world, ship)) return
  const copy = server.queue.snapshot()
  const wipes = draw.chance(0.5)
  // Its mark is raised each second: by now the copy is old.
  await within(world, 2_500, () => false)
  const key = write(world, ship, 'ok', 'never').text
  await within(world, 50, () => false)
  const since = kernel.now()
  world.trace.tell('CALM', wipes ? 'the queue is wiped' : 'the queue is rolled back')
  if (wipes) server.queue.wipe()
  else server.queue.restore(copy)
  const noticed = await within(world, 2_500, () =>
    told.some(({ event, atMs }) => event === 'queue.lost' && atMs >= since),
  )
  oracle.check('L4', noticed, () => `nobody noticed in 2.5 s that the queue was ${wipes ? 'wiped' : 'rolled back'}`)
  const back = await within(world, 3_000, () => isDone(world, ship, key))
  oracle.check('L4', back, () => 'a row did not run within 3 s after the loss was noticed')
}

/** L5: what a worker ran that died starts again after its lease and a sweep. */
const killed: Examination = async (world, calm) => {
  const { oracle, plan, fleet, trace } = world
  const able = fleet.working().filter(({ jobs }) => jobs.includes(ship.name))
  if (able.length < 2) return
  const key = write(world, ship, 'slow', 'after').text
  const runs = () => able.find(({ process }) => oracle.running.get(process)?.has(`${ship.name}\u0000${key}`))
  if (!(await within(world, 6_000, () => runs() !== undefined))) return
  const victim = runs()
  if (!victim) return
  trace.tell('CALM', `${victim.process.name} is killed for ever`)
  fleet.crash(victim, null)
  calm.core = calm.core.filter((member) => member !== victim)
  const boundMs = plan.leaseMs + 1.1 * plan.sweepMs + 6_000
  const again = await within(world, boundMs, () => isDone(world, ship, key))
  oracle.check('L5', again, () => `what a dead worker ran is not done after ${boundMs} ms`)
}

/** L8: a worker that is told to stop is gone after its grace, and holds nothing. */
const stopped: Examination = async (world) => {
  const { oracle, fleet, kernel, draw, db } = world
  const member = fleet.working().find(({ jobs }) => jobs.includes(ship.name))
  if (!member?.worker) return
  write(world, ship, draw.of(['slow', 'ok', 'deaf'] as const), 'after')
  await within(world, draw.between(0, 3_000), () => false)
  const before = new Set(db.workers.keys())
  member.leaving = true
  let over = false
  const since = kernel.now()
  void member.worker.stop({ grace: '1s' }).then(() => {
    over = true
  })
  fleet.start(member.jobs)
  const ended = await within(world, 1_000 + 500 + 1_500, () => over)
  oracle.check('L8', ended, () => `a worker has not stopped after ${kernel.now() - since} ms`)
  member.process.kill()
  const gone = [...before].filter((id) => !db.workers.has(id))
  // More, when one that died before is declared dead in that moment.
  oracle.check('L8', gone.length >= 1, () => 'a worker that has stopped is still registered')
  const held = [...db.ledger.values()].filter(({ holder }) => holder !== null && gone.includes(holder))
  oracle.check('L8', held.length === 0, () => `a worker that has stopped holds ${JSON.stringify(held[0])}`)
}

/** L6: of many rows each gets its turn, however small the queue; L2: sweeps are made while all slots are busy. */
const many: Examination = async (world) => {
  const { oracle, plan, db, fleet, tally } = world
  const able = fleet.working().filter(({ jobs }) => jobs.includes(ship.name))
  if (able.length === 0) return
  const count = 6
  const keys = Array.from({ length: count }, () => write(world, ship, 'slow', 'never').text)
  const window = plan.bounds.maxHints ?? count
  const busyMs = 2_600 * Math.ceil(count / (plan.concurrency * able.length))
  const boundMs = (Math.ceil(count / window) + 1) * passMs(world) + busyMs
  let oldest = 0
  const busy = () => able.every(({ process }) => (oracle.running.get(process)?.size ?? 0) >= plan.concurrency)
  const all = await within(world, boundMs, () => {
    if (busy()) {
      oldest = Math.max(oldest, world.nowMs() - (db.sweeps.get(ship.name)?.lastAttemptAt ?? 0))
      tally.fault('all slots busy')
    }
    return keys.every((key) => isDone(world, ship, key))
  })
  oracle.check(
    'L6',
    all,
    () => `of ${count} rows ${keys.filter((key) => isDone(world, ship, key)).length} are done after ${boundMs} ms`,
  )
  oracle.check(
    'L2',
    oldest <= 1.1 * plan.sweepMs + 2_500,
    () => `the last sweep was ${oldest} ms old while all slots were busy`,
  )
}

/** L9: one that throws takes none of its batch to quarantine: they go on in halves (M36). */
const badNeighbour: Examination = async (world) => {
  const { oracle } = world
  if (!ableTo(world, render)) return
  await rested(world)
  write(world, render, 'throws', 'never')
  const keys = Array.from({ length: 3 }, () => write(world, render, 'ok', 'never').text)
  const done = await within(world, passMs(world) + 12_000, () => keys.every((key) => isDone(world, render, key)))
  oracle.check('L9', done, () => 'the neighbours of one that throws are not done')
}

export const examinations: readonly Examination[] = [
  ...[unhinted, changed, lost, many, killed, stopped, badNeighbour],
  ...hintExaminations,
  ...awayExaminations,
]
