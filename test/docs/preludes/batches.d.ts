// Names that the fragments of docs/batches.md use.
import type { InputJob, PendingJob } from 'regrow'
import type { z } from 'zod'

declare const sql: typeof import('regrow').sql
declare const ship: PendingJob<'bigint'>
declare const welcome: InputJob<z.ZodObject<{ to: z.ZodEmail }>>
declare const carrier: { sendAll(ids: readonly bigint[], signal: AbortSignal): Promise<bigint[]> }
declare const mail: { sendAll(addresses: readonly string[]): Promise<boolean[]> }
