// What goes on while a server is away, or does not answer one call, and that it is noticed when it is back.
import { ship } from './cast.ts'
import { ableTo, type Examination, isDone, within, write } from './examination.ts'
import { beginningMs } from './sim-process.ts'

/** L2: while the queue is down each process sweeps for itself; when it is back, all of them use it again. */
const queueDown: Examination = async (world) => {
  const { oracle, network, kernel, draw, fleet, told, server, tally } = world
  if (!server || !ableTo(world, ship)) return
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
  const { oracle, network, kernel, draw, fleet, plan, db } = world
  const member = fleet.working().length > 0 ? draw.of(fleet.working()) : undefined
  // With a short lease the watchdog's look, each second, comes too late to keep it.
  if (!member || plan.leaseMs < 6_000) return
  const ageMs = (id: string) => beginningMs + kernel.now() - (db.workers.get(id)?.beatAt ?? 0)
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

export const awayExaminations: readonly Examination[] = [queueDown, beatUnanswered]
