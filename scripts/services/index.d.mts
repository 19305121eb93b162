// The types of index.mjs, which is plain JavaScript because Node 20 runs it without a build.

export interface PostgresOptions {
  /** Lines of postgresql.conf, such as `{ max_connections: 200 }`. Defaults to the server's own. */
  settings?: Record<string, string | number | boolean>
  /** True lets REGROW_TEST_POSTGRES_URL name a server instead, which then cannot be stopped. Defaults to false. */
  shared?: boolean
  /** The primary that it follows, which is restarted for it; `select pg_promote()` ends that. Defaults to none. */
  standbyOf?: PostgresServer
}

export interface PostgresServer {
  readonly port: number
  /** Pid of the postmaster; undefined for a server that is named by the environment. Changes with a restart. */
  readonly pid: number | undefined
  readonly dataDir: string | undefined
  /** Connection string. The database defaults to `postgres`. */
  url(database?: string): string
  /** Answers the new database's connection string. */
  createDatabase(name: string): Promise<string>
  /** Ends the database's sessions and drops it, if it is there. */
  dropDatabase(name: string): Promise<void>
  /** Starts a stopped or killed server on the same port and data. */
  start(): Promise<void>
  /** `immediate` is a crash that Postgres recovers from; `smart` waits for clients. Defaults to `fast`. */
  stop(mode?: 'smart' | 'fast' | 'immediate'): Promise<void>
  restart(mode?: 'smart' | 'fast' | 'immediate'): Promise<void>
  /** SIGKILL to the postmaster. Its children follow by themselves a moment later. */
  kill9(): Promise<void>
  /** Ends the server and removes its data. */
  close(): Promise<void>
}

export interface PgbouncerOptions {
  /** The server behind it. */
  postgres: Pick<PostgresServer, 'url'>
  /** Defaults to `transaction`. */
  poolMode?: 'session' | 'transaction' | 'statement'
  /** Further lines of the [pgbouncer] section. */
  settings?: Record<string, string | number>
  /** True lets REGROW_TEST_PGBOUNCER_URL name one instead. Defaults to false. */
  shared?: boolean
}

export interface Pgbouncer {
  readonly port: number
  readonly pid: number | undefined
  url(database: string): string
  close(): Promise<void>
}

export interface RedisOptions {
  /** Lines of redis.conf, such as `{ maxmemory: '3mb' }`. Nothing is saved unless `save` says so. */
  settings?: Record<string, string | number>
  /** Further arguments of redis-server. */
  args?: string[]
  /** True lets REGROW_TEST_REDIS_URL name a server instead, which then cannot be stopped. Defaults to false. */
  shared?: boolean
  /** True: it speaks TLS alone, with a certificate signed by itself (`caFile`). Needs openssl. Defaults to false. */
  tls?: boolean
  /** The master whose replica it is; it has all of its keys when it is ready. Defaults to none. */
  replicaOf?: { readonly port: number }
}

export interface RedisServer {
  readonly port: number
  /** Undefined for a server that is named by the environment. Changes with a restart. */
  readonly pid: number | undefined
  /** Where it saves `dump.rdb`. */
  readonly dataDir: string | undefined
  /** The certificate to trust, when it speaks TLS. */
  readonly caFile: string | undefined
  /** Connection string. The database defaults to 0. */
  url(database?: number): string
  /** One command, over a connection of its own; an error reply is thrown. */
  command(...args: (string | number)[]): Promise<RedisReply>
  /** Starts a stopped or killed server on the same port and data. */
  start(): Promise<void>
  /** SIGTERM: it saves what it was told to save. */
  stop(): Promise<void>
  restart(): Promise<void>
  kill9(): Promise<void>
  /** SIGSTOP: connections stay open, and nothing answers. */
  pause(): Promise<void>
  /** SIGCONT. */
  resume(): Promise<void>
  /** Ends the server and removes its data. */
  close(): Promise<void>
}

export interface RedisClusterOptions {
  /** Defaults to 3. They have no replicas. */
  masters?: number
  /** Further lines of every node's redis.conf. */
  settings?: Record<string, string | number>
}

export interface RedisCluster {
  readonly nodes: RedisServer[]
  /** Connection strings of the nodes, in their order. */
  readonly urls: string[]
  close(): Promise<void>
}

export interface RedisSentinelOptions {
  /** It has to have a replica already. */
  master: { readonly port: number }
  /** What clients ask for. Defaults to `main`. */
  name?: string
  /** How long the master may be silent. Defaults to 1,000. */
  downAfterMs?: number
}

export interface RedisSentinel extends RedisServer {
  /** Of the master that it watches. */
  readonly name: string
}

/** An error inside of a list is a value. */
export type RedisReply = string | number | null | Error | RedisReply[]

/** Starts a Redis server of one's own. It ends with this process, however that ends. */
export function startRedis(options?: RedisOptions): Promise<RedisServer>

/** Starts a Redis Cluster; it serves every slot. It ends with this process, however that ends. */
export function startRedisCluster(options?: RedisClusterOptions): Promise<RedisCluster>

/** Starts a Sentinel that watches a master which has a replica. It ends with this process, however that ends. */
export function startRedisSentinel(options: RedisSentinelOptions): Promise<RedisSentinel>

/** One command on any server (`redis://` or `rediss://`, which is trusted as it is); an error reply is thrown. */
export function redisCommand(url: string, ...args: (string | number)[]): Promise<RedisReply>

/** Starts a PostgreSQL server of one's own. It ends with this process, however that ends. */
export function startPostgres(options?: PostgresOptions): Promise<PostgresServer>

/** Starts a PgBouncer. It ends with this process, however that ends. */
export function startPgbouncer(options: PgbouncerOptions): Promise<Pgbouncer>

/** The path of a Node program of that major version, fetched from the npm registry when this process runs another. */
export function findNode(major: number): Promise<string>

/** Notes a process of one's own: it gets `signal` when this process has ended, in whatever way. */
export function watchOver(kind: 'server', pid: number, signal: NodeJS.Signals): void

/** The process has ended. */
export function forget(kind: 'server', pid: number): void
