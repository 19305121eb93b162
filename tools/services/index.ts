// Real servers for tests, benchmarks and the demo. provision.ts finds or installs them; supervisor.ts ends them.

export { findNode } from './find-node.ts'
export { startPgbouncer } from './pgbouncer.ts'
export { type PostgresServer, startPostgres } from './postgres.ts'
export { type RedisServer, startRedis } from './redis.ts'
export { redisCommand } from './redis-client.ts'
export { type RedisCluster, startRedisCluster } from './redis-cluster.ts'
export { type RedisSentinel, startRedisSentinel } from './redis-sentinel.ts'
export { release, supervise } from './supervisor.ts'
