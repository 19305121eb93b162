// regrow: what code writes that declares, enqueues and works. People operate by regrow/operate; drivers are made with regrow/driver.
export type { App, AppOptions, DrainOptions, DrainReport, WorkerHandle, WorkOptions } from './app/app.ts'
export { regrow } from './app/regrow.ts'
export type { Duration } from './base/duration.ts'
export { RegrowError } from './base/errors.ts'
export type { LogOption, LogRecord } from './base/log.ts'
export type { LoopReport } from './base/watchdog.ts'
export type { QueueDriver, StoreDriver } from './drivers/driver.ts'
export type { CalendarInterval } from './job/calendar-interval.ts'
export type { Covers } from './job/covers.ts'
export type {
  CommonOptions,
  EnqueueInputOptions,
  EnqueuePendingOptions,
  EnqueueReport,
  EnqueueResult,
  InputItem,
  InputJob,
  InputOptions,
  PendingJob,
  PendingOptions,
  RecurringJob,
  RecurringOptions,
  TransactionLike,
} from './job/declaration.ts'
export type { EventMap, EventMessage } from './job/event-map.ts'
export type { BatchContext, Context, Handler, Transaction } from './job/handler.ts'
export type { BuiltQuery, CustomPending, Pending, PendingRow } from './job/pending.ts'
export type { ScheduleOptions, Slot } from './job/schedule.ts'
export { sql } from './job/sql.ts'
export type { PauseOptions } from './operate/pause.ts'
export type { PauseRow } from './store/status.ts'
export type { CapacityReport } from './worker/capacity.ts'
