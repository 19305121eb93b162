// One worker process of the demo on Postgres. It tells its parent what it does, and stops when the parent lets go of it.
import { regrow } from 'regrow'
import { postgres } from 'regrow/postgres'
import { controlPlane } from './control-plane.ts'
import { concurrency, lease, listen } from './place.ts'

const app = regrow({ store: postgres(process.env.REGROW_DEMO_URL), lease })
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
