// Names that the fragments of docs/health.md use.
import type { App } from 'regrow'

declare const app: App
declare const pager: { alert(what: { key: string; message: string; hint: string }): void }
declare const operate: typeof import('regrow/operate').operate
