// Names that the fragments of docs/events.md use.
import type { App, AppOptions } from 'regrow'

type Write = (...words: readonly (string | object)[]) => void

declare const app: App
declare const store: AppOptions['store']
declare const metrics: { observe(job: string, state: string, ms: number): void }
declare const log: Record<'debug' | 'info' | 'warn' | 'error', Write>
