// Names that the fragments of docs/doctor.md use.
import type { App } from 'regrow'

declare const app: App
declare const operate: typeof import('regrow/operate').operate
