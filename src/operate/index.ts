// regrow/operate: what a person asks of an app, and does to it. The command line and dashboards use this.
import { type Operable, type Operator, operatorKey } from '../app/operator.ts'
import { RegrowError } from '../base/errors.ts'

export type { DeclaredJob } from '../app/app.ts'
export type { Operable, Operator } from '../app/operator.ts'
export type { Progress, ProgressOptions } from '../base/progress.ts'
export type { StateValues, TrialRow } from '../store/coverage.ts'
export type { IndexSuggestion, JobCosts, StatementCost, Unmet, UnmetCondition } from '../store/diagnosis.ts'
export type { ErrorGroup, QuarantinedDetail, QuarantinedKey } from '../store/quarantine.ts'
export type {
  ClaimFacts,
  HealRow,
  JobRow,
  KeyFacts,
  LedgerFacts,
  PauseRow,
  PendingCount,
  PulseFacts,
  SweepRow,
  WorkerRow,
} from '../store/status.ts'
export type { SweepOptions, SweepReport } from '../sweep/run-sweep.ts'
export type { CoverageOptions, CoverageReport } from './coverage/coverage.ts'
export type { ClaimProof, CoveredColumn, CoveredValue, RowSample } from './coverage/report.ts'
export type { DoctorOptions, DoctorReport } from './doctor/doctor.ts'
export type { DoctorFinding } from './doctor/finding.ts'
export type { DoctorCode } from './doctor/finding-texts.ts'
export type { Drift } from './drift.ts'
export type { Finding, FindingCode } from './findings.ts'
export type { ForgetOptions, ForgetReport } from './forget.ts'
export type { Health, JobHealth } from './health.ts'
export type { NewSchedule } from './new-schedule.ts'
export type { PauseOptions, Pausing } from './pause.ts'
export type { ActOptions, DropReport, Quarantine, QuarantineKeys, ReleaseReport } from './quarantine.ts'
export type { QuarantineFilter } from './quarantine-filter.ts'
export type { HandedOver, ScheduleInfo, SlotInfo } from './schedule-info.ts'
export type { SchedulesOfApp } from './schedules.ts'
export type { JobStatus, QueueStatus, Status } from './status.ts'
export type { WaitingCount } from './waiting.ts'
export type { MainReason } from './why/decide.ts'
export type { PendingFacts, WhyFacts } from './why/facts.ts'
export { type Reason, type WhyCommand, type WhyReason, whyReasons } from './why/reason.ts'
export type { Why } from './why/why.ts'

/** All that people operate: health, why, doctor, quarantine, schedules and more. Nothing is loaded or opened before the first call. */
export function operate(app: Operable): Operator {
  const operator = app?.[operatorKey]
  if (!operator)
    throw new RegrowError(
      'not_an_app',
      'operate() was given something that is not an app',
      'Pass what regrow({ store }) returned: operate(app).',
    )
  return operator
}
