// Names that the fragments of docs/errors.md use.
import type { InputJob } from 'regrow'
import type { z } from 'zod'

declare const RegrowError: typeof import('regrow').RegrowError
declare const welcome: InputJob<z.ZodObject<{ to: z.ZodEmail }>>
declare const input: { to: string }
declare function reply(status: number, text: string): void
