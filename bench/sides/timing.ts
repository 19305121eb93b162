// How all sides measure, peers included: the same clock, the same percentiles, the same warming up, the same jobs.
import type { Figures } from '../compare/task.ts'

/** Seconds, jobs per second, and processor microseconds of this process per job, from now on until it is called. */
export function watch(jobs: number): () => Figures {
  const start = performance.now()
  const cpu = process.cpuUsage()
  return () => {
    const seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    return { seconds, perSecond: jobs / seconds, cpuPerJob: (user + system) / jobs }
  }
}

/** The value that so many of all are not above; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** Waits of an idle worker as figures; the first tenth of them warms up. */
export function waitsOf(waits: readonly number[]): Figures {
  const warm = waits.slice(Math.ceil(waits.length / 10))
  return { p50: percentile(warm, 0.5), p95: percentile(warm, 0.95) }
}

/** Time for a worker to become idle again. */
export const idle = (ms = 8) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** `jobs` calls by so many callers, each of which waits for its own call before it makes the next one. */
export async function callers(jobs: number, count: number, call: (n: number) => Promise<unknown>): Promise<void> {
  let next = 1
  const caller = async () => {
    while (next <= jobs) await call(next++)
  }
  await Promise.all(Array.from({ length: count }, caller))
}

/** The input of a job that has no row. */
export const inputOf = (n: number) => ({ to: `user-${n}@example.org`, subject: 'Welcome' })

/** The n-th uuid, in the order of their making. */
export const uuidOf = (n: number) => `018f0000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

/** What a peer's job carries: the id of a row, or an input. */
export function dataOf(n: number, data: string | undefined): object {
  if (data === 'input') return inputOf(n)
  return { id: data === 'uuid' ? uuidOf(n) : n }
}
