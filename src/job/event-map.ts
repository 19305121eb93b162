// The names of what happens, and what each event tells. Keys and counts only: never inputs, rows or secrets.

/** Every event of regrow; listen with `app.on(name, listener)`. */
export interface EventMap {
  /** A handler begins. `attempt` counts from 1. */
  'job.started': { job: string; key: string; attempt: number }
  /** An outcome was recorded. `state` is what the ledger holds now; `done` means nothing. */
  'job.settled': {
    job: string
    key: string
    state: 'done' | 'retrying' | 'quarantined'
    error: string | null
    tookMs: number
  }
  /** A result came too late: the claim belonged to somebody else, and nothing was recorded. */
  'job.lease_lost': { job: string; key: string }
  /** Something was thrown after `ctx.tx` had committed; the run stays a success. */
  'job.threw_after_tx': { job: string; key: string; error: unknown }
  /** A handler did not end 30 s after its timeout; its claim was given up, its slot is stuck. */
  'job.stuck': { job: string; key: string }
  /**
   * It ran, and its row is still pending. `same_version`: that is a failure. `no_version`: without a `version` this may be new work.
   * `version_changes`: at each look the version is another one, so it tells nothing. Of these two the next sweep brings the row.
   */
  'job.no_progress': { job: string; key: string; why: 'same_version' | 'no_version' | 'version_changes' }
  /**
   * What this worker declares was gone from the store, or older, after a restore for one: it is declared again. Names of jobs whose
   * sweep was missing, or of all its schedules where one of them was.
   */
  'declarations.missing': { sweeps: readonly string[]; schedules: readonly string[] }
  /** A popped hint started nothing. */
  'hint.refused': { job: string; key: string; why: RefusalReason }
  /**
   * Hints that the queue did not take; the rows are still there, the sweep will find them. `refused`: the queue can never hold this
   * one, which `job` and `key` name.
   */
  'hint.dropped': {
    count: number
    why: 'full' | 'memory' | 'queue' | 'foreign' | 'refused'
    error: unknown
    job?: string
    key?: string
  }
  /**
   * A sweep's turn ended. `finished` is false when it will go on at its cursor; `unusable` counts rows that cannot run, `unusableReason` says why of one.
   */
  'sweep.passed': {
    job: string
    seen: number
    pushed: number
    held: number
    unusable: number
    unusableReason: string | null
    finished: boolean
    tookMs: number
  }
  'sweep.failed': { job: string; error: unknown }
  /** The queue was lost or rolled back, and this process was the one to declare it: every sweep begins a new pass. */
  'queue.lost': { queue: string; how: 'missing' | 'foreign' | 'behind'; epoch: number }
  /** The queue has grown back: the first pass of every job since the loss is over. */
  'queue.healed': { epoch: number; pushed: number; tookMs: number }
  /**
   * Somebody had put values of another type into keys of the queue. They were deleted, so that they stop no other job; the jobs that
   * lost hints by it are swept at once.
   */
  'queue.repaired': { queue: string; keys: readonly string[]; jobs: readonly string[] }
  /** The queue does not answer: memory stands in, and this process sweeps for itself. */
  'queue.down': { queue: string; error: unknown }
  /** It answers again; hints in this process's memory were thrown away, the sweep brings them. */
  'queue.up': { queue: string; downMs: number; discarded: number }
  /**
   * Rows of regrow's own tables held what regrow never writes, instants without end for one: they were put right, so that they stop
   * nothing else.
   */
  'store.repaired': { rows: readonly { readonly table: string; readonly row: string }[] }
  /** A pause ran out: its job is swept anew. */
  'pause.over': { job: string }
  /** The heartbeat URL of a job's sweep could not be called. */
  'heartbeat.failed': { job: string; error: unknown }
  /** What the ledger remembered of keys that are long not pending was forgotten; `kept` wait for the next audit. */
  'ledger.audited': { job: string; forgotten: number; kept: number }
  /** Instants of a schedule did not run: this one, or all from it to `through` (`count`: how many, where somebody counted). */
  'slot.skipped': {
    schedule: string
    at: string
    reason: 'missed' | 'paused' | 'ended' | 'replaced' | 'overlap' | 'dropped'
    through: string | null
    count: number | null
  }
  /** All schedules were gone through: slots that were missing were made, slots without a hint were hinted. */
  'schedules.audited': { processed: number; failed: number; created: number; orphans: number; tookMs: number }
  /** A schedule ended: no live worker declared it for seven days. */
  'schedule.ended': { schedule: string; why: 'absent' }
  /** Claims of dead workers were released. */
  'worker.freed': { workers: number; keys: number }
  /** A worker died while it had this key. `alone`: nothing else ran, so the crash is its own; three of those quarantine it. */
  'job.crashed': { job: string; key: string; crashes: number; alone: boolean; quarantined: boolean }
  /** This worker was declared dead by another; it starts anew under a new identity. */
  'worker.gone': { holder: string }
  /** Half of this worker's slots are stuck: the process wants to be started anew. Told once; nothing ends by itself. */
  'worker.recycle': { stuck: number; concurrency: number }
  /** This worker cannot start, since another try would not help; `ready` rejects with `error`. `awaited`: somebody asked for `ready`. */
  'worker.failed': { error: unknown; awaited: boolean }
  /** Jobs of this app that this worker does not run: `handler`: it has none of them; `late`: they were declared after `app.work()`. */
  'job.unhandled': { jobs: readonly string[]; why: 'handler' | 'late' }
  /** A round of a background loop failed, or a step of it for one job or schedule; the loop goes on. */
  'loop.failed': { loop: LoopName; error: unknown; job?: string; schedule?: string }
  'loop.stalled': { loop: LoopName }
  /** A listener of `event` threw, or its promise rejected. A failure to listen to this event is not told. */
  'listener.failed': { event: string; error: unknown }
}

/** The name of every event. */
export const eventNames = Object.keys({
  'job.started': true,
  'job.settled': true,
  'job.lease_lost': true,
  'job.threw_after_tx': true,
  'job.stuck': true,
  'job.no_progress': true,
  'declarations.missing': true,
  'hint.refused': true,
  'hint.dropped': true,
  'sweep.passed': true,
  'sweep.failed': true,
  'queue.lost': true,
  'queue.healed': true,
  'queue.repaired': true,
  'store.repaired': true,
  'queue.down': true,
  'queue.up': true,
  'pause.over': true,
  'heartbeat.failed': true,
  'ledger.audited': true,
  'slot.skipped': true,
  'schedules.audited': true,
  'schedule.ended': true,
  'worker.freed': true,
  'job.crashed': true,
  'worker.gone': true,
  'worker.recycle': true,
  'worker.failed': true,
  'job.unhandled': true,
  'loop.failed': true,
  'loop.stalled': true,
  'listener.failed': true,
} satisfies Record<keyof EventMap, true>) as readonly (keyof EventMap)[]

/** What the diagnostics channel `regrow` carries; the name tells the detail. */
export type EventMessage = {
  [Name in keyof EventMap]: { readonly name: Name; readonly detail: EventMap[Name] }
}[keyof EventMap]

/**
 * Why a hint started nothing. `running`: another run has its key. `not_due`: it may start later, for its back-off or its `run_at`.
 * `lease_lost`: this worker was declared dead, and claims nothing until it has registered again.
 */
export type RefusalReason = 'running' | 'not_due' | 'quarantined' | 'suspect' | 'paused' | 'not_pending' | 'lease_lost'

/** Background loops of a worker, and steps whose failures are reported like theirs. */
export type LoopName = keyof typeof loopTexts

/** What each of them does, as the object or subject of a sentence. */
export const loopTexts = {
  open: 'opening the store',
  pop: 'taking work from the queue',
  claim: 'claiming keys',
  timeouts: 'the watch over timeouts',
  settle: 'recording results',
  progress: 'asking whether rows are still pending',
  beat: 'the heartbeat of this worker',
  sweep: 'sweeping',
  backlog: 'counting the rows that wait',
  ledger_audit: 'the audit of the ledger',
  local_sweep: 'looking for work in the store',
  canary: 'asking whether the queue was lost',
  queue_probe: 'asking whether the queue is back',
  free_dead: 'looking for dead workers',
  repair: "putting right damaged rows of regrow's tables",
  schedules: 'the audit of the schedules',
  stop: 'giving back what this worker held',
  watchdog: 'the watch over the loops',
} as const
