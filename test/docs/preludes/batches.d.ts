// Names that the fragments of docs/batches.md use.
import type { App } from 'regrow'

declare const sql: typeof import('regrow').sql
declare const z: typeof import('zod').z
declare const app: App
declare const carrier: { sendAll(ids: readonly bigint[], signal: AbortSignal): Promise<bigint[]> }
declare const mail: { sendAll(addresses: readonly string[]): Promise<boolean[]> }
