// The public core of regrow.
export { RegrowError } from './base/errors.ts'
export type { EventMap } from './job/event-map.ts'
export type { Context, Transaction } from './job/handler.ts'
export type { JobOptions } from './job/job.ts'
export { sql } from './job/pending.ts'
export { type App, type AppOptions, type DeclaredJob, regrow, type WorkerHandle } from './regrow.ts'
