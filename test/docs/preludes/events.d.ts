// Names that the fragments of docs/events.md use.
import type { App } from 'regrow'

declare const app: App
declare const metrics: { observe(job: string, state: string, ms: number): void }
declare const log: { debug(name: string, detail: object): void }
