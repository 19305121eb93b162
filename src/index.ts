// The public core of regrow.
export type { OpenStore, QueueDriver, StoreDriver } from './backends/driver.ts'
export type { Duration } from './base/duration.ts'
export { RegrowError } from './base/errors.ts'
export type * from './job/declaration.ts'
export type { EventMap } from './job/event-map.ts'
export type { Context, Handler, ManyContext, Transaction } from './job/handler.ts'
export { sql } from './job/pending.ts'
export { type App, type AppOptions, regrow, type WorkerHandle, type WorkOptions } from './regrow.ts'
