// Where the demo runs. Two files make one: on-pglite.ts (everything in this process) and on-postgres.ts (workers are
// processes); on-redis.ts gives either another queue. The rest of the demo knows no difference.
import type { App, QueueDriver } from 'regrow'
import type { Query } from './tally.ts'

/** What a worker tells while it works. */
export type WorkerNews =
  | { readonly kind: 'started'; readonly job: string; readonly key: string }
  | { readonly kind: 'settled'; readonly job: string; readonly key: string; readonly state: string }

export interface StartedWorker {
  /** What a kill is here: `kill -9` and the pid, or `abandoned`. */
  readonly killing: string
  /** Ends it without any good-bye. */
  kill(): void
  /** Resolves when it has ended, however that came about. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

export interface Place {
  /** The web server's app: it enqueues and works on nothing. */
  readonly app: App
  /** What the reader should know of this place, a line each. */
  readonly remarks: readonly string[]
  query: Query
  startWorker(tell: (news: WorkerNews) => void): Promise<StartedWorker>
  /** How many hints the queue holds. */
  hints(): Promise<number>
  /** Destroys every hint of the demo's jobs; returns which, each as `job key`. */
  wipe(): Promise<string[]>
  /** Leaves nothing behind. */
  close(): Promise<void>
}

/** A queue that is not the one of its place, as far as the demo looks into it. */
export interface DemoQueue extends Pick<Place, 'hints' | 'wipe' | 'close'> {
  readonly driver: QueueDriver
}

/** How often the silence of a dead worker is noticed. Short, so that half a minute shows it; the default is 15 s. */
export const lease = '3s'
/** Handler calls at a time in each worker. */
export const concurrency = 3
/** Identity of a hint or a claim. */
export const identity = ({ job, key }: { job: string; key: string }): string => `${job} ${key}`

/** Passes on what the demo wants to know of an app's events. */
export function listen(app: App, tell: (news: WorkerNews) => void): void {
  app.on('job.started', ({ job, key }) => tell({ kind: 'started', job, key }))
  app.on('job.settled', ({ job, key, state }) => tell({ kind: 'settled', job, key, state }))
}
