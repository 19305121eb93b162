// The tables of schema 6 with the defaults of their columns. Times are epoch milliseconds.
import type { Difference } from '../../../src/job/canary-mark.ts'
import type { ScheduleSpec, SkipReason } from '../../../src/store/schedules.ts'
import type { Sample } from '../../../src/store/sweeps.ts'
import { Engine } from './engine.ts'
import { type Index, type Row, Table } from './table.ts'
import { instant, plus } from './time.ts'

/** One key that is running, backed off or quarantined. */
export interface LedgerRow extends Row {
  readonly job: string
  readonly key: string
  readonly version: string | null
  readonly holder: string | null
  readonly take: number | null
  readonly solo: boolean
  readonly failures: number
  readonly crashes: number
  readonly soloCrashes: number
  readonly retryAt: number | null
  readonly state: 'running' | 'retrying' | 'quarantined'
  readonly error: string | null
  readonly updatedAt: number
  readonly crashOf: string | null
  readonly pardoned: number
  readonly together: number | null
  readonly unseenAt: number | null
}

/** One process that works. */
export interface WorkerRow extends Row {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly jobs: Readonly<Record<string, string>>
  readonly startedAt: number
  readonly beatAt: number
  readonly stuck: number
  readonly leaseMs: number | null
}

/** The sweep of one job. */
export interface SweepRow extends Row {
  readonly job: string
  readonly nextAt: number
  readonly holder: string | null
  readonly term: number
  readonly until: number | null
  readonly lastHolder: string | null
  readonly cursor: string | null
  readonly lastAttemptAt: number | null
  readonly lastSuccessAt: number | null
  readonly lastError: string | null
  readonly seen: number
  readonly pushed: number
  readonly held: number
  readonly tookMs: number
  readonly auditedAt: number | null
  readonly everyMs: number | null
  readonly heal: number | null
  readonly rampedAt: number | null
  readonly passSeen: number
  readonly unusable: number
  readonly unusableKey: string | null
  readonly passUnusable: number
  readonly fingerprint: string | null
  readonly pending: number | null
  readonly pendingEstimated: boolean
  readonly pendingAt: number | null
  readonly oldestAt: number | null
  readonly sample: Sample | null
  readonly dropped: number
  readonly stalled: number
  readonly noProgress: number
  readonly errors: number
}

/** The store's copy of one queue's canary. */
export interface MarkRow extends Row {
  readonly queue: string
  readonly epoch: number
  readonly sequence: number
  readonly epochAt: number
  readonly bumpedAt: number
}

/** One loss of a queue. */
export interface HealRow extends Row {
  readonly id: number
  readonly queue: string
  readonly epoch: number
  readonly at: number
  readonly how: Difference
  readonly noticedBy: string
  readonly jobsLeft: number
  readonly pushed: number
  readonly endedAt: number | null
}

/** One pause, also when it has run out and nobody has ended it yet. */
export interface PauseRow extends Row {
  readonly job: string
  readonly reason: string
  readonly author: string
  readonly since: number
  readonly until: number | null
  readonly backlog: number | null
}

/** Work that has no natural row. */
export interface IntentRow extends Row {
  readonly id: string
  readonly job: string
  /** JSON text, as jsonb tells it. */
  readonly input: string
  readonly runAt: number | null
  readonly uniqueKey: string | null
  /** The unique key of one that has started and gave it up. */
  readonly startedKey: string | null
  readonly createdAt: number
}

/** What a person did. */
export interface AuditRow extends Row {
  readonly id: number
  readonly at: number
  readonly author: string
  readonly action: string
  readonly job: string | null
  /** JSON text. */
  readonly detail: string | null
}

/** What recurs. */
export interface ScheduleRow extends Row, Omit<ScheduleSpec, 'startAtMs' | 'endAtMs'> {
  readonly version: number
  readonly term: number
  readonly startAt: number | null
  readonly endAt: number | null
  readonly fromAt: number
  readonly lastSlot: number | null
  readonly createdAt: number
  readonly seenAt: number
  readonly lastAuditAt: number | null
  readonly pausedAt: number | null
  readonly pauseReason: string | null
  readonly pauseAuthor: string | null
  readonly endedAt: number | null
  readonly endReason: 'person' | 'absent' | null
  readonly ranUntil: number | null
}

/** One instant of a schedule, or all up to `through`. */
export interface SlotRow extends Row {
  readonly schedule: string
  readonly slot: number
  readonly version: number
  readonly lane: string
  readonly key: string
  readonly dueAt: number
  readonly state: 'waiting' | 'held' | 'ran' | 'skipped'
  readonly reason: SkipReason | null
  readonly through: number | null
  readonly count: number | null
  readonly madeAt: number
  readonly begunAt: number | null
  readonly endedAt: number | null
  readonly handedJob: string | null
  readonly handedIntent: string | null
  readonly handedKey: string | null
}

/** What a slot handed over: nothing. */
export const notHanded = { handedJob: null, handedIntent: null, handedKey: null } as const

/** The one row of the pulse. */
export interface PulseRow extends Row {
  readonly beatAt: number
  readonly graceUntil: number
  readonly auditAt: number
  readonly setBackAt: number | null
  readonly setBackMs: number | null
}

/** The id of a ledger row. */
export const ledgerId = (job: string, key: string): string => `${job}\u0000${key}`

/** The id of a slot. */
export const slotId = (schedule: string, slot: number): string => `${schedule}\u0000${slot}`

/** The one id of the pulse. */
export const onePulse = 'one'

/** The pulse after a first beat. */
export const newPulse = (beatAt: number, graceUntil: number): PulseRow => ({
  ...{ beatAt, graceUntil, auditAt: Number.NEGATIVE_INFINITY },
  ...{ setBackAt: null, setBackMs: null },
})

/** A key that nobody holds and nothing is known of. */
export const newKey = (job: string, key: string, updatedAt: number): LedgerRow => ({
  job,
  key,
  version: null,
  holder: null,
  take: null,
  solo: false,
  failures: 0,
  crashes: 0,
  soloCrashes: 0,
  retryAt: null,
  state: 'running',
  error: null,
  updatedAt,
  crashOf: null,
  pardoned: 0,
  together: null,
  unseenAt: null,
})

/** A sweep that was never made. */
export const newSweep = (job: string, nextAt: number, everyMs: number): SweepRow => ({
  job,
  nextAt,
  holder: null,
  term: 0,
  until: null,
  lastHolder: null,
  cursor: null,
  lastAttemptAt: null,
  lastSuccessAt: null,
  lastError: null,
  seen: 0,
  pushed: 0,
  held: 0,
  tookMs: 0,
  auditedAt: null,
  everyMs,
  heal: null,
  rampedAt: null,
  passSeen: 0,
  unusable: 0,
  unusableKey: null,
  passUnusable: 0,
  fingerprint: null,
  pending: null,
  pendingEstimated: false,
  pendingAt: null,
  oldestAt: null,
  sample: null,
  dropped: 0,
  stalled: 0,
  noProgress: 0,
  errors: 0,
})

/** A key that only runs alone: it crashed twice, and nobody else is to blame. */
export const isSuspect = ({ crashes, pardoned }: LedgerRow): boolean => crashes - pardoned >= 2

/** True while a worker beats: silent for no longer than its lease. */
export const isLive = ({ beatAt, leaseMs }: WorkerRow, at: number, lease: number): boolean =>
  beatAt >= plus(at, -(leaseMs ?? lease))

/** Every table, the engine that writes them, and the store's clock. */
export class Schema {
  readonly engine = new Engine()
  readonly now: () => number
  readonly ledger = new Table<LedgerRow>('ledger')
  readonly workers = new Table<WorkerRow>('workers')
  readonly sweeps = new Table<SweepRow>('sweeps')
  readonly marks = new Table<MarkRow>('marks')
  readonly heals = new Table<HealRow>('heals')
  readonly pauses = new Table<PauseRow>('pauses')
  readonly intents = new Table<IntentRow>('intents')
  /** One row per unique key of an intent: its index, so that writers of the same one wait for each other. */
  readonly uniqueKeys = new Table<{ readonly id: string }>('intents_unique', false)
  readonly audit = new Table<AuditRow>('audit')
  readonly pulse = new Table<PulseRow>('pulse')
  /** When a drain of each job ended last; only people look at it. */
  readonly drained = new Map<string, number>()
  readonly schedules = new Table<ScheduleRow>('schedules')
  readonly slots = new Table<SlotRow>('slots')

  readonly ledgerByHolder: Index = this.ledger.index(({ holder }) => holder)
  readonly ledgerByJob: Index = this.ledger.index(({ job }) => job)
  readonly ledgerByCrash: Index = this.ledger.index(({ crashOf }) => crashOf)
  readonly ledgerSolo: Index = this.ledger.index(({ job, solo, holder }) => (solo && holder !== null ? job : null))
  readonly ledgerSuspect: Index = this.ledger.index((row) => (row.holder !== null && isSuspect(row) ? row.job : null))
  readonly ledgerQuarantined: Index = this.ledger.index(({ job, state }) => (state === 'quarantined' ? job : null))
  readonly intentsByJob: Index = this.intents.index(({ job }) => job)
  readonly slotsOpen: Index = this.slots.index(({ schedule, state }) =>
    state === 'waiting' || state === 'held' ? schedule : null,
  )
  readonly slotsWaiting: Index = this.slots.index(({ lane, state }) => (state === 'waiting' ? lane : null))
  readonly slotsByKey: Index = this.slots.index(({ key }) => key)

  /** Numbers of heals and audit rows; like a sequence, it never goes back. */
  #number = 0

  constructor(now: () => number) {
    this.now = () => instant(now())
    const never = Number.NEGATIVE_INFINITY
    this.pulse.set(onePulse, { beatAt: never, graceUntil: never, auditAt: never, setBackAt: null, setBackMs: null })
  }

  nextNumber(): number {
    return ++this.#number
  }

  /** True while a pause of the job holds. */
  isPaused(job: string, at: number): boolean {
    const pause = this.pauses.rows.get(job)
    return pause !== undefined && (pause.until === null || pause.until > at)
  }
}
