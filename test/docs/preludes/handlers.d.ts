// Names that the fragments of docs/handlers.md use.
import type { App, InputJob, PendingJob } from 'regrow'
import type { z } from 'zod'

declare const app: App
declare const regrow: typeof import('regrow').regrow
declare const sql: typeof import('regrow').sql
declare const postgres: typeof import('regrow/postgres').postgres
declare const pg: typeof import('pg').default
declare const url: string
declare const invoices: { close(client: import('pg').PoolClient, id: bigint): Promise<void> }
declare const ship: PendingJob<'bigint'>
declare const welcome: InputJob<z.ZodObject<{ to: z.ZodEmail }>>
declare const carrier: {
  send(id: bigint, options: { idempotencyKey: string; signal: AbortSignal }): Promise<string>
  sendAll(ids: readonly bigint[], signal: AbortSignal): Promise<bigint[]>
}
declare const mail: { send(to: string, signal: AbortSignal): Promise<void> }
