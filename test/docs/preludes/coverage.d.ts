// Names that the fragments of docs/coverage.md use.
import type { App } from 'regrow'

declare const app: App
declare const expectCoverage: typeof import('regrow/testing').expectCoverage
declare const sql: typeof import('regrow').sql
