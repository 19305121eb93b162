// A process that opens a PGlite directory, says so, and keeps it open until it is killed.

import { pglite } from '../../src/drivers/pglite/index.ts'
import { regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'

const app = regrow({ store: pglite(process.argv[2] as string) })
await operate(app).migrate()
process.send?.('open')
process.on('message', () => {})
