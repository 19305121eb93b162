// Lower arrow: a page that the queue reads by itself, since it lives beside the rows. Only the few rows that are not simply
// pending now come here, and go the usual way.
import type { Job } from '../job/job.ts'
import type { Fill } from '../queue/push.ts'
import type { Source } from '../store/source.ts'
import { type HintPorts, hintRows } from './hint-rows.ts'
import type { Ramped } from './ramped.ts'
import { horizonMs, pageTimeoutMs, type Step } from './step.ts'

export interface InsidePorts extends HintPorts {
  readonly source: Source
  readonly fill: Fill
  readonly ramped: Ramped
}

export interface InsidePage {
  readonly after: string | null
  readonly limit: number
  readonly epoch: number | null
}

/** Null: the queue, or this source, cannot do that. */
export async function inside(
  ports: InsidePorts,
  job: Job,
  { after, limit: most, epoch }: InsidePage,
): Promise<Step | null> {
  const { source, fill, ramped } = ports
  if (!source.pageQuery) return null
  const nothing = { seen: 0, pushed: 0, held: 0, dropped: 0, passed: 0, cursor: after, oldestMs: null, rows: [] }
  const room = await ramped.room(after)
  if (typeof room === 'string') return { ...nothing, ended: room }
  const limit = Math.min(most, room)
  const page = await source.pageQuery(after, limit, horizonMs(job))
  const filled = await fill({ job: job.name, page, timeoutMs: pageTimeoutMs, epoch })
  if (!filled) return null
  const { scanned, eligible, last, oldestMs } = filled
  const others = filled.rows.length > 0 ? await hintRows(ports, job, filled.rows, epoch) : { added: 0, dropped: 0 }
  const { added, dropped, lost = 0 } = filled.pushed
  ramped.note(added + others.added)
  const found = {
    seen: scanned,
    pushed: added + others.added,
    held: scanned - eligible,
    dropped: dropped + others.dropped,
    oldestMs,
    rows: [...filled.rows, ...filled.sample.map((key) => ({ key, version: null, waitMs: 0, renewed: false }))],
  }
  // M42: what this pass still has to push is not what the new queue lacks most.
  if (lost + ('lost' in others ? (others.lost ?? 0) : 0) > 0) return { ...nothing, ...found, ended: 'lost' }
  if (found.dropped > 0) return { ...nothing, ...found, ended: 'full' }
  const finished = scanned < limit || last === null
  // L6: the cursor moves on even when nothing was eligible.
  return { ...found, passed: scanned, cursor: finished ? null : last, ended: finished ? 'finished' : null }
}
