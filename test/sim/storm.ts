// The time in which everything goes wrong that the plan names.

import { jobSets, partOf } from './cast.ts'
import type { Member } from './fleet.ts'
import type { HostileKind } from './hostile.ts'
import type { Blow } from './plan.ts'
import { upset } from './upsets.ts'
import type { SimWorld } from './world.ts'

/** How often the store's log is written to disk by itself: what is asynchronous is lost if it crashes before. */
const flushMs = 400

export class Storm {
  /** Acts of operators that are not over: a pause that has to be resumed. */
  busy = 0
  readonly #world: SimWorld
  #over = false

  constructor(world: SimWorld) {
    this.#world = world
  }

  begin(): void {
    const { plan, network, kernel, db } = this.#world
    network.weather = plan.weather
    for (const blow of plan.blows) kernel.after(blow.atMs, () => this.#strike(blow))
    const flush = () => {
      db.flush()
      if (!this.#over) kernel.after(flushMs, flush)
    }
    flush()
  }

  /** Faults stop: servers are up, the way is free. */
  end(): void {
    const { network, server, db } = this.#world
    this.#over = true
    db.flush()
    network.weather = { requestLost: 0, replyLost: 0, silent: 0, slow: 0, twice: 0 }
    network.servers.store.down = false
    network.servers.queue.down = false
    if (server) server.full = false
    this.#world.hostile.end()
  }

  #strike(blow: Blow): void {
    if (this.#over) return
    const { trace } = this.#world
    trace.tell('STORM', blow.kind, () => `${Math.round(blow.ms)} ms`)
    const hostile = (kind: HostileKind) => {
      this.busy++
      void this.#world.hostile.strike({ ...blow, kind }).finally(() => this.busy--)
    }
    const acts: Record<Blow['kind'], () => void> = {
      crash: () => this.#crash(blow),
      freeze: () => this.#freeze(blow),
      deploy: () => void this.#deploy(),
      wipe: () => this.#onQueue('queue wiped', (queue) => queue.wipe()),
      'lose some': () =>
        this.#onQueue('queue partly deleted', (queue) => queue.lose(() => this.#world.draw.chance(0.5))),
      'roll back': () => this.#rollBack(blow),
      garbage: () => this.#inject('garbage in the queue', garbage),
      foreign: () => this.#inject('foreign hints in the queue', foreign),
      'queue down': () => this.#down('queue', blow),
      'queue full': () => this.#full(blow),
      'store down': () => this.#down('store', blow),
      'store restart': () => this.#restart(blow),
      pause: () => void this.#pause(blow),
      'hostile row': () => hostile('hostile row'),
      'hint refused': () => hostile('hint refused'),
      'page broken': () => hostile('page broken'),
      'table emptied': () => upset(this.#world, { ...blow, kind: 'table emptied' }),
      'tables restored': () => upset(this.#world, { ...blow, kind: 'tables restored' }),
      'clock set back': () => upset(this.#world, { ...blow, kind: 'clock set back' }),
      'clock ahead': () => upset(this.#world, { ...blow, kind: 'clock ahead' }),
      'mark forged': () => hostile('mark forged'),
      'infinite run_at': () => hostile('infinite run_at'),
    }
    acts[blow.kind]()
  }

  #someone(): Member | undefined {
    const { fleet, draw } = this.#world
    const working = fleet.working().filter(({ process }) => process.state === 'up')
    return working.length > 0 ? draw.of(working) : undefined
  }

  #crash({ ms }: Blow): void {
    const { fleet, tally, draw } = this.#world
    const member = this.#someone()
    if (!member) return
    tally.fault('process crashed')
    fleet.crash(member, { afterMs: ms, jobs: draw.chance(0.7) ? member.jobs : draw.of(jobSets) })
  }

  #freeze({ ms }: Blow): void {
    const { kernel, tally, trace, plan } = this.#world
    const process = this.#someone()?.process
    if (!process) return
    tally.fault('process frozen')
    process.freeze()
    kernel.after(ms, () => {
      if (process.state !== 'frozen') return
      trace.tell(process.name, 'wakes up')
      if (ms > plan.leaseMs) tally.fault('process woke after its lease')
      process.thaw()
    })
  }

  async #deploy(): Promise<void> {
    const { fleet, tally, draw } = this.#world
    const member = this.#someone()
    if (!member) return
    tally.fault('deploy: a process stopped and another job set started')
    member.leaving = true
    fleet.start(draw.of(jobSets))
    // With the store away it cannot say goodbye, and ends all the same.
    await member.worker?.stop({ grace: '2s' }).catch(() => {})
    member.process.kill()
  }

  #onQueue(
    name: 'queue wiped' | 'queue partly deleted',
    act: (queue: NonNullable<SimWorld['server']>['queue']) => void,
  ): void {
    const { server, tally } = this.#world
    if (!server) return
    tally.fault(name)
    act(server.queue)
  }

  #rollBack({ ms }: Blow): void {
    const { server, tally, kernel, oracle } = this.#world
    if (!server) return
    const copy = server.queue.snapshot()
    kernel.after(ms, () => {
      if (this.#over) return
      tally.fault('queue rolled back')
      oracle.tampered(copy.hints)
      server.queue.restore(copy)
    })
  }

  #inject(
    name: 'garbage in the queue' | 'foreign hints in the queue',
    hints: readonly { job: string; key: string }[],
  ): void {
    const { server, tally, oracle, draw, user } = this.#world
    if (!server) return
    tally.fault(name)
    // Hints of keys that are there, too, without a reason: whatever they are, the run re-reads the truth.
    const known = [...user.standing.keys()]
      .filter(() => draw.chance(0.5))
      .map((id) => {
        const [job, key] = id.split('\u0000') as [string, string]
        return { job, key }
      })
    oracle.tampered(known)
    oracle.tampered(hints, { foreign: true })
    this.#world.injected += known.length + hints.length
    server.queue.inject([...known, ...hints].map((hint) => ({ ...hint, delayMs: 0, fresh: draw.chance(0.5) })))
  }

  #down(which: 'queue' | 'store', { ms }: Blow): void {
    const { network, tally, kernel, draw, server } = this.#world
    if (which === 'queue' && !server) return
    tally.fault(which === 'queue' ? 'queue down' : 'store down')
    network.servers[which].down = draw.of(['refuses', 'hangs'] as const)
    kernel.after(ms, () => {
      network.servers[which].down = false
    })
  }

  #full({ ms }: Blow): void {
    const { server, kernel } = this.#world
    if (!server) return
    server.full = true
    kernel.after(ms, () => {
      server.full = false
    })
  }

  #restart({ ms }: Blow): void {
    const { network, tally, kernel, db, draw } = this.#world
    const { store } = network.servers
    tally.fault('store restarted')
    const lost = db.restart((commits) => draw.whole(0, commits))
    if (lost > 0) tally.fault('asynchronous commits lost', lost)
    store.lives++
    store.down = 'refuses'
    kernel.after(ms, () => {
      store.down = false
    })
  }

  /** An operator pauses a job, and is not content before it is so; and resumes it, unless the pause ends by itself. */
  async #pause({ ms }: Blow): Promise<void> {
    const { tally, kernel, draw, user } = this.#world
    const job = draw.of([...partOf.keys()])
    const forMs = draw.chance(0.5) ? ms : null
    this.busy++
    await user.operate((app) => app.pause(job, { reason: 'a storm', ...(forMs === null ? {} : { for: forMs }) }))
    tally.fault('job paused')
    if (forMs !== null) tally.fault('pause ran out')
    else {
      await kernel.passed(ms)
      await user.operate((app) => app.resume(job))
    }
    this.busy--
  }
}

const garbage = [
  { job: 'page.render', key: 'no number' },
  { job: 'page.render', key: '007' },
  { job: 'bill.pay', key: '{"shop":1}' },
  { job: 'mail.send', key: 'not a uuid' },
]

const foreign = [
  { job: 'other.app', key: '1' },
  { job: 'order.ship', key: 'of somebody else' },
  { job: 'page.render', key: '4711' },
  { job: 'mail.send', key: '00000000-0000-7000-8000-000000000000' },
]
