// One worker process of the demo on Postgres. It tells its parent what it does, and stops when the parent lets go of it.
import { createClient } from '@redis/client'
import { regrow } from 'regrow'
import { postgres } from 'regrow/postgres'
import { redis } from 'regrow/redis'
import { controlPlane } from './control-plane.ts'
import { concurrency, lease, listen } from './place.ts'

const { REGROW_DEMO_URL, REGROW_DEMO_REDIS, REGROW_DEMO_NAMESPACE: namespace } = process.env
const queue = REGROW_DEMO_REDIS && namespace && redis(createClient({ url: REGROW_DEMO_REDIS }), { namespace })
// No warnings: failures are what the demo shows, in its own lines.
const app = regrow({ store: postgres(REGROW_DEMO_URL), lease, log: false, ...(queue && { queue }) })
controlPlane(app)
listen(app, (news) => process.send?.(news))
const worker = app.work({ concurrency })
process.once('disconnect', async () => {
  await worker.stop()
  await app.close()
})
// The terminal sends Ctrl-C to every process; the parent decides when this one stops.
process.on('SIGINT', () => {})
await worker.ready
process.send?.('ready')
