// The public core of regrow.
export type * from './app/app.ts'
export { regrow } from './app/regrow.ts'
export { type Clock, systemClock } from './base/clock.ts'
export { type Duration, milliseconds, readable } from './base/duration.ts'
export { RegrowError } from './base/errors.ts'
export type { LogOption, LogRecord } from './base/log.ts'
export type { LongOptions, Progress } from './base/progress.ts'
export { redact } from './base/redact.ts'
export { nearest } from './base/suggest.ts'
export { visible } from './base/visible.ts'
export type { OpenStore, QueueDriver, StoreDriver, StoreSurroundings } from './drivers/driver.ts'
export type { CalendarInterval } from './job/calendar-interval.ts'
export type { Covers, StateValue } from './job/covers.ts'
export type * from './job/declaration.ts'
export type { EventMap, EventMessage } from './job/event-map.ts'
export type { Context, Handler, ManyContext, Transaction } from './job/handler.ts'
export type {
  BuiltQuery,
  CustomPending,
  Pending,
  PendingRow,
  SqlValue,
} from './job/pending.ts'
export type { ScheduleOptions, Slot } from './job/schedule.ts'
export { sql } from './job/sql.ts'
export type { CoverageOptions, CoverageReport } from './operate/coverage/coverage.ts'
export type { ClaimProof, CoveredColumn, CoveredValue, RowSample } from './operate/coverage/report.ts'
export type { DoctorOptions, DoctorReport } from './operate/doctor/doctor.ts'
export type { DoctorFinding } from './operate/doctor/finding.ts'
export type { DoctorCode } from './operate/doctor/finding-texts.ts'
export type { Drift } from './operate/drift.ts'
export type { Finding, FindingCode } from './operate/findings.ts'
export type { ForgetOptions, ForgetReport } from './operate/forget.ts'
export type { Health, JobHealth } from './operate/health.ts'
export type { NewSchedule } from './operate/new-schedule.ts'
export type { PauseOptions, Pausing } from './operate/pause.ts'
export type {
  ActOptions,
  DropReport,
  Quarantine,
  QuarantineKeys,
  ReleaseReport,
} from './operate/quarantine.ts'
export type { QuarantineFilter } from './operate/quarantine-filter.ts'
export type { HandedOver, ScheduleInfo, SlotInfo } from './operate/schedule-info.ts'
export type { SchedulesOfApp } from './operate/schedules.ts'
export type { JobStatus, QueueStatus, Status } from './operate/status.ts'
export type { WaitingCount } from './operate/waiting.ts'
export type { Decided } from './operate/why/decide.ts'
export type { PendingFacts, WhyFacts } from './operate/why/facts.ts'
export { type Told, type WhyCommand, type WhyReason, whyReasons } from './operate/why/reason.ts'
export type { Why } from './operate/why/why.ts'
export type * from './queue/hint.ts'
export type * from './queue/queue.ts'
export { wrapQueue } from './queue/wrap-queue.ts'
export type { StateValues, TrialRow } from './store/coverage.ts'
export type { IndexWish, JobCosts, StatementCost, Unmet, UnmetCondition } from './store/diagnosis.ts'
export type * from './store/intents.ts'
export type * from './store/ledger.ts'
export type { ErrorGroup, QuarantinedDetail, QuarantinedKey } from './store/quarantine.ts'
export type * from './store/source.ts'
export type {
  ClaimFacts,
  HealRow,
  KeyFacts,
  LedgerFacts,
  PauseRow,
  PendingCount,
  SweepRow,
  WorkerRow,
} from './store/status.ts'
export type { Store } from './store/store.ts'
export type * from './store/sweeps.ts'
export type * from './store/workers.ts'
export type { SweepOptions, SweepReport } from './sweep/run-sweep.ts'
export type { SlotReport } from './worker/capacity.ts'
