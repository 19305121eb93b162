// A process that starts servers, prints what they are as one line of JSON, and runs until a signal ends it.
import { startPgbouncer, startPostgres, startRedis } from '../../tools/services/index.ts'

const postgres = await startPostgres()
const bouncer = await startPgbouncer({ postgres })
const redis = await startRedis()
const pids = [postgres.pid, bouncer.pid, redis.pid]
console.log(JSON.stringify({ pids, dataDirs: [postgres.dataDir, redis.dataDir] }))
setInterval(() => {}, 1_000)
