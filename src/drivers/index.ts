// regrow/driver: the ports that a store or a queue fills, and what its author needs besides. Their suites are in regrow/testing.

export { type AfterOptions, type Clock, systemClock } from '../base/clock.ts'
export type { Mark } from '../job/canary-mark.ts'
export type { Job } from '../job/job.ts'
export type { SqlValue } from '../job/pending.ts'
export type { Receipt } from '../job/receipt.ts'
export type { ServerPage } from '../job/server-page.ts'
export type { Hint, PoppedHint, Pushed, QueueBounds } from '../queue/hint.ts'
export {
  badHint,
  type FillRequest,
  type FillResult,
  type HintCount,
  outOfMemory,
  type PageFiller,
  type PeekedHint,
  type PopJob,
  type Popped,
  type PopQueue,
  type PopRequest,
  type PushOptions,
  type PushQueue,
  type Queue,
  type QueueInfo,
  type QueueInspection,
  type QueueRepair,
} from '../queue/queue.ts'
export { wrapQueue } from '../queue/wrap-queue.ts'
export type { Loss, Marks, StoredMark } from '../store/canary.ts'
export type { Claimed, ClaimRequest } from '../store/claim.ts'
export type { Coverage, StateColumn, StateReader, StateRows, StateValues, TrialRow } from '../store/coverage.ts'
export type {
  ConnectionFacts,
  Diagnosis,
  HeldCounts,
  IndexAdvice,
  IndexSuggestion,
  JobCosts,
  QueryCost,
  StatementCost,
  StoreFacts,
  TableName,
  TooMuch,
  Unmet,
  UnmetCondition,
} from '../store/diagnosis.ts'
export type { Classify, StoreErrorKind } from '../store/errors.ts'
export type { Forgetting, JobTraces } from '../store/forgetting.ts'
export type { IntentAnswer, IntentRow, Intents, OpenWriter } from '../store/intents.ts'
export type {
  Claim,
  Finish,
  Ledger,
  LedgerEntry,
  OneTripAnswer,
  OneTripClaims,
  SettleRow,
  SharedAnswers,
  SharedCommits,
  TakeAnswer,
  TakeOptions,
} from '../store/ledger.ts'
export type { AuditRow, Audits, AuditVerdicts } from '../store/ledger-audit.ts'
export type { Pauses } from '../store/pauses.ts'
export type {
  DropVerdict,
  ErrorGroup,
  QuarantinedDetail,
  QuarantinedKey,
  QuarantineWhere,
  StoreQuarantine,
} from '../store/quarantine.ts'
export type {
  Handed,
  OpenSlot,
  ScheduleRow,
  ScheduleSpec,
  Schedules,
  ScheduleUpkeep,
  ScheduleWrite,
  SkipReason,
  SlotWrite,
  Tidied,
} from '../store/schedules.ts'
export type { Checked, Page, PageRow, PendingKey, ServerPages, Source, UnusableRows } from '../store/source.ts'
export type {
  ClaimFacts,
  DeclarationRow,
  HealRow,
  JobRow,
  KeyFacts,
  LedgerFacts,
  PauseRow,
  PendingCount,
  PulseFacts,
  QueueRow,
  StoreStatus,
  SweepRow,
  WorkerRow,
} from '../store/status.ts'
export type { Store, StoreConnections } from '../store/store.ts'
export type { DeclaredSweep, EndedTurn, Healed, Sample, Sweeps, Turn, TurnEnd } from '../store/sweeps.ts'
export type {
  HandedOver,
  ScheduleControl,
  StaleSchedule,
  Timetable,
  TimetableRow,
  TimetableSlot,
} from '../store/timetable.ts'
export type { StoreTransaction, TransactionOptions } from '../store/transaction.ts'
export type { Freed, FreedKey, WorkerIdentity, Workers } from '../store/workers.ts'
export type { OpenStore, QueueDriver, QueueSurroundings, StoreDriver, StoreSurroundings } from './driver.ts'
