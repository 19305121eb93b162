// A person called: why does this key not run? Asks regrow's tables, the pending query and the queue once each, and lets
// decide.ts say what it means. Changes nothing.
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { messageOf } from '../../base/errors.ts'
import { type Job, kindOf } from '../../job/job.ts'
import { isKeyLength } from '../../job/key.ts'
import { storable } from '../../job/outcome.ts'
import { unknownJob } from '../../job/unknown-job.ts'
import type { Queue } from '../../queue/queue.ts'
import type { Diagnosis } from '../../store/diagnosis.ts'
import type { Source } from '../../store/source.ts'
import type { StoreStatus } from '../../store/status.ts'
import { decide, type MainReason } from './decide.ts'
import type { PendingFacts, WhyFacts } from './facts.ts'
import { keyOf } from './key-of.ts'

/** Why a key does not run, what comes next, and what to type; with the facts behind it. */
export interface Why extends MainReason {
  readonly job: string
  /** The key's canonical text. */
  readonly key: string
  readonly facts: WhyFacts
}

export interface WhyPorts {
  readonly clock: Clock
  readonly status: Pick<StoreStatus, 'key'>
  readonly diagnosis: Pick<Diagnosis, 'unmet'> | undefined
  readonly source: (job: Job) => Source
  readonly queue: Pick<Queue, 'name' | 'shared' | 'count' | 'inspection'> & { readonly down: boolean }
  /** Every job that the app declares. */
  readonly jobs: readonly Job[]
  readonly leaseMs: number
}

/** S16: a person waits for the answer; a queue that takes longer is as good as down. */
const patienceMs = 5_000

/** `key`: typed, as lists print it, or a JSON array or object of a composite key. */
export async function why(ports: WhyPorts, name: string, key: unknown): Promise<Why> {
  const job = ports.jobs.find((each) => each.name === name)
  if (!job)
    throw unknownJob(
      name,
      ports.jobs.map((each) => each.name),
    )
  const text = keyOf(job.key, key)
  // The queue first: a hint that is popped in between is then found as a claim, and not nowhere.
  const hints = await hintOf(ports, name, text)
  const source = ports.source(job)
  const pending = await pendingOf(source, job, ports.diagnosis, text)
  const facts: WhyFacts = {
    ...(await ports.status.key(name, text, ports.leaseMs)),
    job: name,
    kind: kindOf(job),
    key: text,
    item: job.input || job.slots || !isKeyLength(text) ? null : itemOf(job, text),
    pending,
    ...hints,
    versioned: source.versioned,
    attemptsMax: job.retry.attemptsMax,
    concurrency: job.concurrency,
    timeoutMs: job.timeoutMs,
    leaseMs: ports.leaseMs,
    sweepJitterMs: job.sweepJitterMs,
  }
  return { job: name, key: text, ...decide(facts), facts }
}

async function pendingOf(
  source: Source,
  job: Job,
  diagnosis: WhyPorts['diagnosis'],
  key: string,
): Promise<PendingFacts> {
  try {
    const { pending, broken } = await source.check([key])
    const found = pending.get(key)
    if (found) return { state: 'pending', version: found.version, waitMs: found.waitMs }
    if (broken?.has(key)) return { state: 'broken', error: errorOf(broken.get(key)) }
    return { state: 'not', unmet: diagnosis ? await diagnosis.unmet(job, key) : { kind: 'unknown' } }
  } catch (error) {
    return { state: 'broken', error: errorOf(error) }
  }
}

const errorOf = (error: unknown) => storable(messageOf(error).split('\n', 1)[0] as string)

/** A queue that is down is part of the answer, not the end of it. */
async function hintOf(
  { clock, queue }: WhyPorts,
  job: string,
  key: string,
): Promise<Pick<WhyFacts, 'queue' | 'hint' | 'dueHints'>> {
  const { name, shared } = queue
  const asked = async () => {
    const [counts, hints] = await Promise.all([queue.count([job]), queue.inspection?.peek(job, [key])])
    return { due: counts.get(job)?.due ?? 0, hint: hints?.get(key) ?? (hints && shared ? null : ('unknown' as const)) }
  }
  const found = queue.down ? null : await withDeadline(clock, patienceMs, 'queue.peek', asked()).catch(() => null)
  return {
    queue: { name, shared, down: found === null },
    // Of a queue in memory this process sees its own part: a hint that is there is one.
    hint: found?.hint ?? (found ? null : 'unknown'),
    dueHints: found?.due ?? null,
  }
}

/** As `regrow enqueue` takes it: the text of a plain key, a JSON object of a composite one. */
function itemOf({ key }: Job, text: string): string {
  if (key.columns.length === 1 && key.columns[0]?.name === null) return text
  return JSON.stringify(key.decode(text), (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}
