// The lower arrow: derives the queue from the rows, again and again. It is why nothing is lost. (src/sweep)
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from './declare.ts'
import { freeDeadWorkers, missing } from './store.ts'

/** Sweeps until what it returns is called. */
export function sweeping({ db, queue, job }: App): () => Promise<void> {
  const stop = new AbortController()
  const loop = async () => {
    while (!stop.signal.aborted) {
      await freeDeadWorkers(db)
      queue.push(await missing(db, job.pending))
      await sleep(50, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  const ended = loop()
  return () => {
    stop.abort()
    return ended
  }
}
