// Names that the fragments of docs/timeouts.md use.
import type { App, PendingJob, WorkerHandle } from 'regrow'

declare const app: App
declare const worker: WorkerHandle
declare const convert: PendingJob<'text'>
declare function nextFrame(film: string): Promise<void>
