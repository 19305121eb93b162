// Real servers for tests, benchmarks and the demo. How they are found: finder.mjs. How they end: guard.mjs.

export { forget, watchOver } from './guard.mjs'
export { findNode } from './node.mjs'
export { startPgbouncer } from './pgbouncer.mjs'
export { startPostgres } from './postgres.mjs'
export { startRedis } from './redis.mjs'
export { startRedisCluster } from './redis-cluster.mjs'
export { startRedisSentinel } from './redis-sentinel.mjs'
export { redisCommand } from './resp.mjs'
