// Names that the fragments of docs/enqueueing.md use.
import type { Client } from 'pg'
import type { App, InputJob, PendingJob } from 'regrow'
import type { z } from 'zod'

declare const app: App
declare const ship: PendingJob<'bigint'>
declare const welcome: InputJob<z.ZodObject<{ to: z.ZodEmail }>>
declare const to: string
declare const ids: bigint[]
declare const requestId: string
declare const client: Client
declare const other: { run(text: string, params: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }> }
