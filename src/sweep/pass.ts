// Lower arrow: a pass over a pending query in keyset pages, pushing the hints that are missing (L3).
// It holds no state that a crash could lose: hints pushed so far are fine, the cursor is in the store.
import type { Clock } from '../base/clock.ts'
import { RegrowError } from '../base/errors.ts'
import type { Job } from '../job/job.ts'
import type { UnusableKeys } from '../job/key.ts'
import type { Fill } from '../queue/push.ts'
import type { Source } from '../store/source.ts'
import { ByKeys } from './client-pages.ts'
import { Ramped } from './pacing.ts'
import { type PassResult, type PassStart, pageRows, pushRows, type Step } from './pass-step.ts'
import type { HintPorts } from './push-rows.ts'
import { Inside } from './server-pages.ts'

export interface PassPorts extends HintPorts {
  readonly clock: Clock
  readonly source: Source
  /** Lets the queue read a page by itself, where it can. */
  readonly fill: Fill
  /** Stores the cursor and keeps the turn; false: it is somebody else's now. `pushed`: hints of the pass so far. */
  readonly advance: (cursor: string | null, pushed: number) => Promise<boolean>
}

const budgetMs = 30_000

/** A pass as far as its budget, the queue and its turn go. */
export async function pass(ports: PassPorts, job: Job, start: PassStart, signal: AbortSignal): Promise<PassResult> {
  const { clock } = ports
  const until = clock.now() + budgetMs
  const ramped = new Ramped(ports, start.rampedMs, signal)
  const byKeys = new ByKeys({ ...ports, ramped }, job, start)
  const inside = new Inside({ ...ports, ramped }, job, start)
  let fills = !start.paused && start.brief !== 'all' && job.sweepJitterMs === 0
  let total: PassResult = { ...nothing, cursor: start.cursor }
  const places = new Set<string | null>([start.cursor])
  try {
    for (;;) {
      const limit = start.brief === 'all' || (start.brief === 'first' && total.seen === 0) ? pushRows : pageRows
      const filled = fills ? await inside.step(total.cursor, limit) : null
      // A queue that did not: what is wrong shows when the keys come here.
      fills = filled !== null
      const step = filled ?? (await byKeys.step(total.cursor, limit))
      total = sum(total, step)
      if (step.ended) return over(total, step)
      if (places.has(total.cursor)) throw circle(job, total.cursor)
      places.add(total.cursor)
      if (ramped.signs() && !(await ports.advance(total.cursor, total.pushed))) return { ...total, ended: 'lost' }
      if (signal.aborted) return { ...total, ended: 'stopped' }
      if (clock.now() >= until) return { ...total, ended: 'budget' }
    }
  } finally {
    await inside.over()
  }
}

/** L2: pages that come round again would be read for ever, and the rows behind them never. */
const circle = (job: Job, cursor: string | null) =>
  new RegrowError(
    'pages_repeat',
    `Job "${job.name}": a page ended at ${JSON.stringify(cursor)} for the second time in one pass`,
    'Each page has the rows behind the last one, in key order. Does `page(after, limit)` use `after`, and is its order that of the keys?',
  )

/** A queue that failed after it had taken some is looked at again soon, like a full one; the turn that gets nothing in has failed. */
function over(total: PassResult, { ended, error }: Step): PassResult {
  if (ended === 'full' && error !== undefined && total.pushed === 0) return { ...total, ended: 'failed', error }
  return { ...total, ended: ended as PassResult['ended'] }
}

const nothing: PassResult = {
  ...{ seen: 0, pushed: 0, held: 0, unusable: null, dropped: 0, passed: 0 },
  ...{ cursor: null, oldestMs: null, rows: [], ended: 'finished' },
}

function sum(total: PassResult, step: Step): PassResult {
  const oldest = [total.oldestMs, step.oldestMs].filter((ms) => ms !== null)
  return {
    seen: total.seen + step.seen,
    pushed: total.pushed + step.pushed,
    held: total.held + step.held,
    unusable: added(total.unusable, step.unusable),
    dropped: total.dropped + step.dropped,
    passed: total.passed + step.passed,
    cursor: step.cursor,
    oldestMs: oldest.length === 0 ? null : Math.max(...oldest),
    rows: total.rows.length === 0 ? step.rows : total.rows,
    ended: total.ended,
  }
}

const added = (a: UnusableKeys | null, b: UnusableKeys | null): UnusableKeys | null =>
  a && b ? { count: a.count + b.count, key: a.key } : (a ?? b)
