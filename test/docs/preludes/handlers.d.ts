// Names that the fragments of docs/handlers.md use.
import type { App, InputJob, PendingJob } from 'regrow'
import type { z } from 'zod'

declare const app: App
declare const sql: typeof import('regrow').sql
declare const ship: PendingJob<'bigint'>
declare const welcome: InputJob<z.ZodObject<{ to: z.ZodEmail }>>
declare const carrier: { send(id: bigint, options: { idempotencyKey: string; signal: AbortSignal }): Promise<string> }
declare const payments: {
  charge(id: number, options: { idempotencyKey: string; signal: AbortSignal }): Promise<string>
}
declare const mail: { send(to: string, signal: AbortSignal): Promise<void> }
