// Names that the fragments of docs/operating.md use.
import type { App, WorkerHandle } from 'regrow'

declare const app: App
declare const worker: WorkerHandle
