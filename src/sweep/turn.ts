// Lower arrow: wins the turn of jobs whose sweep is due and makes their passes side by side, so that one job's slow or
// broken query stops nobody else. Runs whether the worker is busy or idle (L2).
import type { LoopSpec, LoopSurroundings } from '../base/loop.ts'
import { spread } from '../base/random.ts'
import type { Job } from '../job/job.ts'
import type { Push } from '../queue/push.ts'
import type { Store } from '../store/store.ts'
import type { Turn } from '../store/sweeps.ts'
import { pass } from './pass.ts'

export interface TurnPorts extends LoopSurroundings {
  readonly store: Store
  readonly push: Push
  readonly jobs: readonly Job[]
  readonly holder: () => string
}

/** A look at whose turn it is, so often: the turn of a dead holder is anybody's. */
const lookMs = 1_000

export function sweepLoop(ports: TurnPorts): LoopSpec {
  const { store, jobs, holder } = ports
  return {
    name: 'sweep',
    async tick(signal) {
      const names = jobs.map(({ name }) => name)
      for (const turn of await store.sweeps.turn(holder(), names)) void makeTurn(ports, turn, signal)
      return lookMs
    },
  }
}

async function makeTurn({ random, failed, store, push, jobs, holder }: TurnPorts, turn: Turn, signal: AbortSignal) {
  const job = jobs.find(({ name }) => name === turn.job) as Job
  const owner = holder()
  const everyMs = spread(random, job.sweepEveryMs, 0.1)
  try {
    const advance = async (cursor: string) => (await store.sweeps.advance(owner, turn, cursor)) && !signal.aborted
    const cursor = await pass(store.source(job), push, job, turn.cursor, advance)
    await store.sweeps.end(owner, turn, cursor, cursor === null ? everyMs : 0)
  } catch (error) {
    failed(`sweep ${job.name}`, error)
    // A turn whose end cannot be told runs out by itself.
    await store.sweeps.end(owner, turn, turn.cursor, Math.min(everyMs, 10_000)).catch(() => {})
  }
}
