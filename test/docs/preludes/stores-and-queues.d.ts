// Names that the fragments of docs/stores-and-queues.md use.
declare const regrow: typeof import('regrow').regrow
declare const memory: typeof import('regrow/memory').memory
declare const pglite: typeof import('regrow/pglite').pglite
declare const postgres: typeof import('regrow/postgres').postgres
declare const redis: typeof import('regrow/redis').redis
declare const url: string
declare const redisUrl: string
