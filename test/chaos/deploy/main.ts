// npm run chaos -- deploy: two versions of an app side by side on a Postgres of their own, two minutes by default, under a steady
// load; then it counts. `-- --seconds 120 --rate 20 --lease 3`
import { startPostgres } from '../../../tools/services/index.ts'
import { deploy } from '../../processes/deploy.ts'
import { readFlags } from '../flags.ts'

const flags = readFlags(process.argv.slice(2), {
  /** Both versions side by side; each of them is alone for a tenth of it, before and after. */
  seconds: 120,
  /** Rows per second of each of the five kinds. */
  rate: 20,
  /** Seconds. */
  lease: 3,
})
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))
const began = performance.now()
const tell = (line: string) =>
  console.log(`${String(Math.round((performance.now() - began) / 1_000)).padStart(4)} s  ${line}`)

tell(`deploys: ${flags.seconds} s side by side, ${5 * flags.rate} rows a second, lease ${flags.lease} s`)
const server = await startPostgres({
  settings: { max_connections: 200, shared_buffers: '256MB', fsync: false, full_page_writes: false },
})
const result = await deploy({
  url: await server.createDatabase('deploys'),
  sideBySideMs: flags.seconds * 1_000,
  aloneMs: flags.seconds * 100,
  perSecond: flags.rate,
  leaseMs: flags.lease * 1_000,
  tell,
})
await server.close()

const { oldAlone, newAlone, effects } = result
const waiting = { audit: oldAlone.audit, invoice: oldAlone.invoice, legacy: newAlone.legacy }
for (const [kind, { open, hints, failed }] of Object.entries(waiting))
  tell(`no worker had a handler of ${kind}: ${open} rows open, ${hints} hints waiting, ${failed} failed`)
for (const [kind, by] of Object.entries(effects))
  tell(`${kind}: ${by.old} effects of the old version, ${by.new} of the new`)
const { fed, lost, doubled, quarantined, claimsLeft, processes, surprises } = result
tell(
  `expected ${fed}, lost ${lost}, doubled ${doubled}, quarantined ${quarantined}, claims left ${claimsLeft}, ${processes} processes`,
)
const wrong = [
  lost > 0 && 'work was lost',
  doubled > 0 && 'effects were doubled',
  quarantined > 0 && 'keys were quarantined',
  claimsLeft > 0 && 'claims were left behind',
  Object.values(waiting).some(({ failed }) => failed > 0) && 'hints of an unknown job were failed',
  Object.values(waiting).some(({ hints }) => hints === 0) && 'hints of an unknown job did not wait',
  effects.audit.old + effects.invoice.old + effects.express.old + effects.legacy.new > 0 &&
    'a version did what it cannot know',
  ...surprises,
].filter((each) => each !== false)
console.log(
  wrong.length > 0 ? `FAILED: ${wrong.join('; ')}` : 'ok: nothing lost, nothing doubled, unknown names waited',
)
process.exitCode = wrong.length > 0 ? 1 : 0
