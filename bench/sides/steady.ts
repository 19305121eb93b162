// Continuous load under long transactions, the same for all sides: so many jobs per second, three overlapping transactions
// that keep dead rows from being removed, then a stretch without. In: how a side enqueues and works. Out: what it was like
// over time.
import pg from 'pg'
import type { Sample, Steady, Task } from '../compare/task.ts'
import { percentile } from './timing.ts'

/** How a side takes part. */
export interface Part {
  /** Its tables are in there; their dead rows are counted. */
  readonly schema: string
  /** The class of its connections. */
  readonly client: { readonly prototype: { query: unknown } }
  /** Among statements that skip what others have locked, those that look for work name this table. Defaults to all of them. */
  readonly table?: string
  /** A few jobs in one call. */
  enqueue(numbers: readonly number[]): Promise<unknown>
  /** Begins to work; its handlers call `began` with the number of each job. */
  work(began: (n: number) => void): unknown
}

/** One interval while it is being filled. */
interface Interval {
  readonly starts: number[]
  readonly pops: number[]
}

/** Jobs come in small calls: one commit each for every job would be a test of the disk. */
const callEveryMs = 25

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.max(0, ms)))

/** Runs the whole course of `task.settings`: calm, held, stagger, after and interval are in milliseconds. */
export async function steady(task: Task & { postgres: string }, part: Part): Promise<Steady> {
  const plan = task.settings as unknown as Plan
  const pinned = plan.held + 2 * plan.stagger
  const total = plan.calm + pinned + plan.after
  const intervals = Array.from({ length: Math.ceil(total / plan.interval) }, (): Interval => ({ starts: [], pops: [] }))
  const sentAt = new Map<number, number>()
  let begin = Number.POSITIVE_INFINITY
  const now = () => performance.now() - begin
  const into = () => intervals[Math.floor(now() / plan.interval)]
  timePops(part, (ms) => into()?.pops.push(ms))
  await part.work((n) => {
    const sent = sentAt.get(n)
    if (sent === undefined) return
    sentAt.delete(n)
    into()?.starts.push(performance.now() - sent)
  })
  await warmUp(part, sentAt)
  begin = performance.now()
  const [, samples] = await Promise.all([
    enqueue(part, sentAt, plan.rate, total, now),
    sample(task.postgres, part.schema, plan.interval, intervals, sentAt, now),
    ...[0, 1, 2].map((each) => longTransaction(task.postgres, plan.calm + each * plan.stagger, plan.held, now)),
  ])
  const inside = (from: number, until: number) =>
    intervals.filter((_, n) => n * plan.interval >= from && (n + 1) * plan.interval <= until)
  const p99 = (some: Interval[], which: keyof Interval) =>
    percentile(
      some.flatMap((each) => each[which]),
      0.99,
    )
  // The last third of the pinned time, beside the calm before it.
  const late = inside(plan.calm + (2 * pinned) / 3, plan.calm + pinned)
  const early = inside(0, plan.calm)
  return {
    p99: p99(late, 'pops'),
    startP99: p99(late, 'starts'),
    calmP99: p99(early, 'pops'),
    calmStartP99: p99(early, 'starts'),
    pinnedFromMs: plan.calm,
    pinnedUntilMs: plan.calm + pinned,
    samples,
  }
}

/** Settings of the task. Times are in milliseconds. */
interface Plan {
  /** Jobs per second. */
  readonly rate: number
  readonly calm: number
  readonly held: number
  readonly stagger: number
  readonly after: number
  readonly interval: number
}

/** Plans, connections and compiled code are there before anything is counted. */
async function warmUp(part: Part, sentAt: Map<number, number>): Promise<void> {
  for (let page = 0; page < 30; page++) {
    const numbers = Array.from({ length: 10 }, (_, n) => -(page * 10 + n + 1))
    for (const n of numbers) sentAt.set(n, performance.now())
    await part.enqueue(numbers)
  }
  for (const until = performance.now() + 20_000; sentAt.size > 0; await sleep(20))
    if (performance.now() > until) throw new Error(`${sentAt.size} of 300 jobs did not start`)
}

/** Every so often as many jobs as are due by the clock, so that a late timer sends more; nobody waits for an answer. */
async function enqueue(
  part: Part,
  sentAt: Map<number, number>,
  rate: number,
  total: number,
  now: () => number,
): Promise<void> {
  let failed: unknown
  for (let sent = 0; now() < total; await sleep(callEveryMs)) {
    const due = Math.floor((now() * rate) / 1000)
    const numbers = Array.from({ length: due - sent }, (_, n) => sent + n + 1)
    sent = due
    for (const n of numbers) sentAt.set(n, performance.now())
    if (numbers.length > 0) part.enqueue(numbers).catch((error: unknown) => (failed ??= error))
    if (failed) throw failed
  }
}

/** Holds a snapshot, as a long report does: what dies after its begin cannot be removed before its end. */
async function longTransaction(url: string, atMs: number, heldMs: number, now: () => number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await sleep(atMs - now())
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from pg_class')
  await sleep(atMs + heldMs - now())
  await client.query('commit')
  await client.end()
}

/** At the end of each interval: the percentiles in it, how many jobs wait, and how many rows are dead. */
async function sample(
  url: string,
  schema: string,
  intervalMs: number,
  intervals: readonly Interval[],
  sentAt: ReadonlyMap<number, number>,
  now: () => number,
): Promise<Sample[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const dead = `select coalesce(sum(n_dead_tup), 0)::float8 as dead from pg_stat_user_tables where schemaname = $1`
  const samples: Sample[] = []
  for (const [n, { starts, pops }] of intervals.entries()) {
    await sleep((n + 1) * intervalMs - now())
    const backlog = sentAt.size
    const { rows } = await client.query(dead, [schema])
    samples.push({
      atMs: (n + 1) * intervalMs,
      pop: percentile(pops, 0.99),
      start: percentile(starts, 0.99),
      started: starts.length,
      backlog,
      dead: Number(rows[0].dead),
    })
  }
  await client.end()
  return samples
}

/** Times every statement that looks for work: on all sides it is one that skips what others have locked. */
function timePops({ client: { prototype }, table = '' }: Part, took: (ms: number) => void): void {
  const query = prototype.query as (...args: unknown[]) => unknown
  prototype.query = function timed(this: unknown, ...args: unknown[]) {
    const [first] = args as [string | { text?: string }]
    const text = typeof first === 'string' ? first : (first?.text ?? '')
    if (!/skip locked/i.test(text) || !text.includes(table)) return query.apply(this, args)
    const start = performance.now()
    const answered = () => took(performance.now() - start)
    const heard =
      (callback: (...answer: unknown[]) => void) =>
      (...answer: unknown[]) => {
        answered()
        callback(...answer)
      }
    // A pool hands its clients a callback, a statement may bring its own; whoever has a client of his own awaits a promise.
    const callback = args.at(-1)
    if (typeof callback === 'function') {
      args[args.length - 1] = heard(callback as never)
      return query.apply(this, args)
    }
    const own = first as { callback?: (...answer: unknown[]) => void }
    if (typeof own.callback === 'function') {
      own.callback = heard(own.callback)
      return query.apply(this, args)
    }
    const answer = query.apply(this, args)
    if (answer instanceof Promise) answer.then(answered, () => {})
    return answer
  }
}
