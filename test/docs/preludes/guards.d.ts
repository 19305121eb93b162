// Names that the fragments of docs/guards.md use.
import type { App } from 'regrow'

declare const app: App
declare const regrow: typeof import('regrow').regrow
declare const sql: typeof import('regrow').sql
declare const postgres: typeof import('regrow/postgres').postgres
declare const redis: typeof import('regrow/redis').redis
declare const url: string
declare const redisUrl: string
declare const index: { put(id: bigint, signal: AbortSignal): Promise<{ changedAt: string }> }
