// A worker process of one version of the app in deploy-app.ts. It ends gracefully with SIGTERM, as under any platform.
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow } from '../../src/index.ts'
import { type AppVersion, deployHandlers } from './deploy-app.ts'

const { url, version, leaseMs } = JSON.parse(process.argv[2] as string) as {
  url: string
  version: AppVersion
  leaseMs: number
}
const app = regrow({ store: postgres(url), lease: leaseMs, migrate: false })
const worker = app.work({ handlers: deployHandlers(app, version) })
process.on('SIGTERM', async () => {
  await worker.stop({ grace: '5s' })
  await app.close()
  process.exit(0)
})
process.on('disconnect', () => process.exit(0))
await worker.ready
process.send?.('ready')
