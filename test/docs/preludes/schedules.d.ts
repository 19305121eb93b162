// Names that the fragments of docs/schedules.md use.
import type { App, InputJob } from 'regrow'
import type { z } from 'zod'

declare const app: App
declare const digest: InputJob<z.ZodObject<{ to: z.ZodEmail }>>
declare const to: string
declare const operate: typeof import('regrow/operate').operate
