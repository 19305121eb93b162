// What follows from recorded outcomes: retries are hinted, everything is told, and successes are asked for progress.
import { untilAborted } from '../base/abort.ts'
import { Batcher } from '../base/batcher.ts'
import type { Clock } from '../base/clock.ts'
import type { Events } from '../base/events.ts'
import type { Random } from '../base/random.ts'
import { retry } from '../base/retry.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import { type Classify, isPassing } from '../store/errors.ts'
import type { Ledger } from '../store/ledger.ts'
import type { Source } from '../store/source.ts'
import type { Sweeps } from '../store/sweeps.ts'
import type { Claims } from './held-claims.ts'
import { type OpenClaims, progress } from './progress.ts'
import { release } from './release.ts'
import type { Ready, Settled } from './stages.ts'

/** Some seconds. */
const progressTries = 6

export interface AftermathPorts {
  readonly clock: Clock
  readonly events: Events<EventMap>
  readonly push: Push
  readonly random: Random
  readonly ledger: Ledger
  readonly claims: Claims
  readonly classify: Classify
  readonly sweeps: Pick<Sweeps, 'noProgress'>
  readonly source: (job: Job) => Source
  /** Aborts when the worker has stopped: nothing is tried again after that. */
  readonly over: AbortSignal
}

/** Asks successes for progress. Only the worker's stop waits for the answers. */
export interface AskProgress {
  of(job: Job, entries: readonly Ready[]): void
  /** Nothing is asked, and no answer is being written down. */
  readonly idle: boolean
  /** Resolves when nothing is asked any more. What still waits to be asked when `signal` aborts is left out, and claims are given back. */
  over(signal: AbortSignal): Promise<void>
}

/**
 * Keys per question at most, and how long after one successes gather for the next. Past `waiting` keys of a job, which is some seconds
 * of successes, they are left to the sweep: its questions are slower than its runs, and would pile up.
 */
const ask = { most: 500, gatherMs: 50, waiting: 20_000 }

export function progressOf(ports: AftermathPorts): AskProgress {
  const asking = new Map<Job, { readonly batcher: Batcher<Ready, void>; waiting: number }>()
  const underWay = new Set<Promise<unknown>>()
  /** Claims that questions hold right now. */
  const open = new Set<readonly Ready[]>()
  let ended = false
  const { clock, over } = ports
  const batcher = (job: Job) => {
    let askedAt = Number.NEGATIVE_INFINITY
    // New work is hinted at once where runs are few; where they are many, they are asked for together.
    const gather = () => clock.sleep(Math.max(0, askedAt + ask.gatherMs - clock.now()), over)
    return new Batcher<Ready, void>({ gather }, ask.most, async (batch) => {
      if (ended) return []
      askedAt = clock.now()
      // What fails here is found by the sweep.
      await askProgress({ ...ports, open, ended: () => ended }, job, batch).catch((error) =>
        ports.events.emit('loop.failed', { loop: 'progress', error }),
      )
      return []
    })
  }
  return {
    get idle() {
      return underWay.size === 0
    },
    of(job, entries) {
      const made = asking.get(job) ?? { batcher: batcher(job), waiting: 0 }
      asking.set(job, made)
      const kept = entries.slice(0, Math.max(0, ask.waiting - made.waiting))
      if (kept.length === 0) return
      made.waiting += kept.length
      const answered: Promise<unknown> = made.batcher.add(kept).then(() => {
        made.waiting -= kept.length
        underWay.delete(answered)
      })
      underWay.add(answered)
    },
    async over(signal) {
      await untilAborted(signal, Promise.all(underWay))
      ended = true
      await release(ports, [...open].flat())
    },
  }
}

/** Database first, queue second: the retry is recorded, now it is hinted. */
export async function aftermath(
  ports: Pick<AftermathPorts, 'events' | 'push' | 'source'> & { readonly ask: AskProgress },
  results: readonly Settled[],
): Promise<void> {
  const retries: Hint[] = []
  /** By job, where a success leaves its row to the handler; null: regrow finishes it. */
  const successes = new Map<Job, Ready[] | null>()
  for (const { ended, settlement, held } of results) {
    if (!held) continue
    const { entry } = ended
    const { job } = entry
    if (settlement.state === 'retrying')
      retries.push({ job: job.name, key: entry.key, delayMs: settlement.retryMs, fresh: false })
    if (settlement.state !== 'done') continue
    if (!successes.has(job)) successes.set(job, ports.source(job).finishes ? null : [])
    successes.get(job)?.push(entry)
  }
  if (retries.length > 0) await ports.push(retries)
  const heard = ports.events.heard('job.settled')
  for (const result of results) tell(ports.events, result, heard)
  for (const [job, entries] of successes) if (entries) ports.ask.of(job, entries)
}

function tell(events: Events<EventMap>, { ended, settlement, held }: Settled, heard: boolean): void {
  const { job, key } = ended.entry
  const error = 'error' in settlement ? settlement.error : null
  if (!held) events.emit('job.lease_lost', { job: job.name, key })
  // A failure is always worth its event: the log overhears it.
  else if (heard || error !== null)
    events.emit('job.settled', {
      job: job.name,
      key,
      state: settlement.state,
      error,
      tookMs: ended.tookMs,
    })
}

async function askProgress(ports: AftermathPorts & OpenClaims, job: Job, entries: readonly Ready[]): Promise<void> {
  const { clock, sweeps, source, random, push, events, classify, over } = ports
  // A store that is away for a moment must not make a poison row new (S6): its failures are in this process only by now.
  const again = (error: unknown, tries: number) => isPassing(classify(error)) && tries < progressTries
  const { renewed, stalled, unclear, unsteady } = await retry(
    clock,
    random,
    { delayMs: 200, again, signal: over },
    () => progress(ports, source(job), job, entries),
  )
  const retries = stalled.filter(({ quarantined }) => !quarantined)
  const hints = [
    ...renewed.map((key) => ({ job: job.name, key, delayMs: 0, fresh: true })),
    ...retries.map(({ key, retryMs }) => ({ job: job.name, key, delayMs: retryMs, fresh: false })),
  ]
  if (hints.length > 0) await push(hints)
  const swept = unclear.length + unsteady.length
  if (swept > 0) await sweeps.noProgress(job.name, swept)
  const told = (key: string, why: EventMap['job.no_progress']['why']) =>
    events.emit('job.no_progress', { job: job.name, key, why })
  for (const { key } of stalled) told(key, 'same_version')
  for (const key of unclear) told(key, 'no_version')
  for (const key of unsteady) told(key, 'version_changes')
}
