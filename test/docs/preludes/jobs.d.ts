// Names that the fragments of docs/jobs.md use.
import type { App } from 'regrow'

declare const app: App
declare const sql: typeof import('regrow').sql
declare const z: typeof import('zod').z
declare const region: string
declare const regions: readonly string[]
declare const mail: { send(to: string): Promise<void> }
declare const bucket: {
  list(after: string | null, limit: number): Promise<string[]>
  existing(names: readonly string[]): Promise<string[]>
}
declare const scanner: { scan(name: string, signal: AbortSignal): Promise<void> }
