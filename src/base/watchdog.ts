// Keeps the loops of a process alive. It knows loops, not jobs: starts them, restarts the stalled, and can say
// how long ago each one last succeeded. There is no scheduler process; every working process carries one of these.
import { Loop, type LoopSpec, type LoopSurroundings } from './loop.ts'

/** Liveness of one loop: the age of its last success, never a ping. */
export interface LoopReport {
  readonly name: string
  readonly successAgeMs: number | undefined
  readonly restarts: number
}

export class Watchdog {
  readonly #loops: { loop: Loop; restarts: number }[]
  readonly #patrol: Loop

  constructor(specs: readonly LoopSpec[], around: LoopSurroundings, stalled: (loop: string) => void) {
    this.#loops = specs.map((spec) => ({ loop: new Loop(spec, around), restarts: 0 }))
    this.#patrol = new Loop(
      {
        name: 'watchdog',
        tick: async () => {
          for (const watched of this.#loops.filter(({ loop }) => loop.stalled)) {
            stalled(watched.loop.spec.name)
            watched.restarts++
            watched.loop.abandon()
          }
          return 1_000
        },
      },
      around,
    )
  }

  start(): void {
    for (const { loop } of this.#loops) loop.start()
    this.#patrol.start()
  }

  /** Begins the next round of these loops now. */
  wake(...specs: readonly LoopSpec[]): void {
    for (const { loop } of this.#loops) if (specs.includes(loop.spec)) loop.wake()
  }

  /** Ends these loops; without any, all of them, what their rounds left under way, and the watchdog itself. */
  async stop(...specs: readonly LoopSpec[]): Promise<void> {
    const all = specs.length === 0
    const chosen = this.#loops.filter(({ loop }) => all || specs.includes(loop.spec))
    await Promise.all([...chosen.map(({ loop }) => loop.stop()), ...(all ? [this.#patrol.stop()] : [])])
    if (all) await Promise.all(chosen.map(({ loop }) => loop.spec.leftOver?.()))
  }

  report(): LoopReport[] {
    return this.#loops.map(({ loop, restarts }) => ({
      name: loop.spec.name,
      successAgeMs: loop.successAgeMs,
      restarts,
    }))
  }
}
