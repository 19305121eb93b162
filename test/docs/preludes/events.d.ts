// Names that the fragments of docs/events.md use.
import type { App, EventMessage } from 'regrow'

declare const app: App
declare const subscribe: typeof import('node:diagnostics_channel').subscribe
declare const metrics: { observe(job: string, state: string, ms: number): void }
declare const log: { debug(name: string, detail: object): void }
