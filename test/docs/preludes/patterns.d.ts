// Names that the fragments of docs/patterns.md use.
import type { App, InputJob, PendingJob } from 'regrow'
import type { z } from 'zod'

declare const app: App
declare const sql: typeof import('regrow').sql
declare const ids: bigint[]
declare const cleanUp: PendingJob<'bigint'>
declare const ship: PendingJob<'bigint'>
declare const welcome: InputJob<z.ZodObject<{ to: z.ZodEmail }>>
declare const carrier: { send(id: bigint, options: { idempotencyKey: string; signal: AbortSignal }): Promise<string> }
declare const provider: {
  backUp(id: bigint, options: { idempotencyKey: string; signal: AbortSignal }): Promise<string>
}
declare const operate: typeof import('regrow/operate').operate
