// Names that the fragments of docs/redis.md use.
declare const redis: typeof import('regrow/redis').redis
declare const createClient: typeof import('@redis/client').createClient
declare const createCluster: typeof import('@redis/client').createCluster
declare const createSentinel: typeof import('@redis/client').createSentinel
declare const Redis: typeof import('ioredis').Redis
declare const Cluster: typeof import('ioredis').Cluster
declare const readFileSync: typeof import('node:fs').readFileSync
declare const url: string
declare const secrets: { get(name: string): Promise<string> }
