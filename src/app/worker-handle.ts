// What `app.work()` answers: a worker that may still be opening its store, and how it ends. In: the worker, when its store is
// open. Out: `ready`, and a stop that may come at any time and again.
import { type Duration, milliseconds } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { closedError, type Life } from '../base/life.ts'
import { checkOptions, readElsewhere } from '../base/options.ts'
import type { LoopReport } from '../base/watchdog.ts'
import type { EventMap } from '../job/event-map.ts'
import type { CapacityReport } from '../worker/capacity.ts'
import type { WorkerHandle } from './app.ts'

/** A worker whose loops run. */
export interface StartedWorker {
  /** The store knows it. */
  readonly registered: Promise<void>
  loops(): LoopReport[]
  capacity(): CapacityReport
  /** Waits up to `graceMs` for what runs, or until `now` aborts; then gives back what is left. */
  stop(graceMs: number, now: AbortSignal): Promise<void>
  /** Ends the loops of a worker that could not register. */
  abandon(): Promise<void>
}

export interface HandlePorts {
  readonly events: Events<EventMap>
  readonly life: Life
  /** Names of the jobs that it works on. */
  readonly jobs: readonly string[]
  /** Opens the store and starts the worker; its signal ends the wait for a store that is away. */
  readonly start: (leaving: AbortSignal) => Promise<StartedWorker>
  /** Why there is no worker, as the author of the app should read it. */
  readonly refusal: (error: unknown) => RegrowError
  /** Called once, when it stops or cannot start. */
  readonly over: () => void
}

const graceDefault: Duration = '25s'

export function handleOf({ events, life, jobs, start, refusal, over }: HandlePorts): WorkerHandle {
  const leaving = new AbortController()
  const now = new AbortController()
  let stopping: Promise<void> | undefined
  /** What `ready` answered; undefined: nobody asked for it. */
  let theirs: Promise<void> | undefined
  const started = life.closing ? Promise.reject(closedError()) : unlessAborted(leaving.signal, start(leaving.signal))
  /** Why there is no worker, as whoever asks for it should read it. */
  const explain = (error: unknown): never => {
    throw life.closing ? closedError() : leaving.signal.aborted ? leftError() : refusal(error)
  }
  const ready = started.then(({ registered }) => registered).catch(explain)
  const end = (graceMs: number) => {
    leaving.abort()
    over()
    theirs?.catch(() => {})
    const stopped = started.then(
      (worker) => worker.stop(graceMs, now.signal),
      () => {},
    )
    // The lease frees what could not be given back. That is worth a line, and no reason to end a process that does not wait for it.
    stopped.catch((error: unknown) => events.emit('loop.failed', { loop: 'stop', error })).finally(forget)
    return stopped
  }
  const forget = life.add(() => {
    stopping ??= end(milliseconds(graceDefault))
    return stopping
  })
  const failing = async (error: unknown) => {
    // Who stops a worker that still waits for its store wants no more of it, not even its error.
    if (stopping) return
    over()
    forget()
    events.emit('worker.failed', { error, awaited: theirs !== undefined })
    await started.then(
      (worker) => worker.abandon(),
      () => {},
    )
    // Nobody asked whether it started: as an unhandled rejection it ends the process, like any other mistake in its start.
    if (!theirs && !life.closing) throw error
  }
  void ready.catch(failing)
  // The promise itself, and not one of an async function: nobody has to wait for it.
  const stop = (options?: { grace?: Duration }): Promise<void> => {
    const graceMs = readGrace(options)
    if (graceMs instanceof RegrowError) return Promise.reject(graceMs)
    if (stopping) now.abort()
    stopping ??= end(graceMs)
    return stopping
  }
  return {
    jobs,
    /** A promise of their own: unhandled if they do not handle it, as long as nobody stops or closes. */
    get ready(): Promise<void> {
      theirs ??= ready.then()
      if (stopping || life.closing) theirs.catch(() => {})
      return theirs
    },
    capacity: async (): Promise<CapacityReport> => (await started.catch(explain)).capacity(),
    loops: async (): Promise<LoopReport[]> => (await started.catch(explain)).loops(),
    stop,
    // Waits for a stop that was begun, and does not end its grace.
    [Symbol.asyncDispose]: () => stopping ?? stop(),
  }
}

/** Milliseconds, or what is wrong with the options of `stop`. */
function readGrace(options: { grace?: Duration } = {}): number | RegrowError {
  try {
    checkOptions('stop()', options, { grace: readElsewhere }, 'The worker was not stopped.')
    return milliseconds(options.grace ?? graceDefault, 'The `grace` of stop()')
  } catch (error) {
    return error as RegrowError
  }
}

/** The same promise, but rejected as soon as `signal` aborts. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

const leftError = () =>
  new RegrowError('stopping', 'The worker was stopped before it was ready', 'Start another one, if that was not meant.')
