// A deploy on one queue, from the old version of an app to the new one and a step back, under a steady load: what waited at
// each stage, and what came of all of it. `npm run chaos -- deploy` and test/fleet/deploy.test.ts judge it.

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Crew } from './crew.ts'
import { type AppVersion, deployTables, type Kind, kinds } from './deploy-app.ts'
import { Load } from './deploy-load.ts'

export interface DeployOptions {
  /** An empty database. */
  readonly url: string
  /** How long both versions work side by side. */
  readonly sideBySideMs: number
  /** How long each version is alone, before and after. */
  readonly aloneMs: number
  /** Rows of each kind per second. */
  readonly perSecond: number
  readonly leaseMs: number
  readonly tell?: (line: string) => void
}

/** Rows of one kind at a moment. */
export interface Standing {
  readonly open: number
  /** Hints of its job in the queue. */
  readonly hints: number
  /** Ledger rows of its job that a failure or quarantine left. */
  readonly failed: number
}

export interface DeployResult {
  /** While only the old version ran: what it has no handler for. */
  readonly oldAlone: Record<'audit' | 'invoice', Standing>
  /** While only the new version ran: the job that it no longer has. */
  readonly newAlone: Record<'legacy', Standing>
  readonly fed: number
  readonly lost: number
  readonly doubled: number
  readonly quarantined: number
  readonly claimsLeft: number
  /** How many effects each version had, by kind. */
  readonly effects: Record<Kind, Record<AppVersion, number>>
  readonly processes: number
  /** Workers that ended by themselves, in words. */
  readonly surprises: readonly string[]
}

/** What is open may take as long at most when nothing comes in any more. */
const drainMs = 120_000

export async function deploy(options: DeployOptions): Promise<DeployResult> {
  const client = new pg.Client({ connectionString: options.url })
  await client.connect()
  await client.query(deployTables)
  const app = regrow({ store: postgres(options.url) })
  await operate(app).migrate()
  await app.close()
  const load = await Load.begin(options.url, options.perSecond)
  const crew = new Crew(fileURLToPath(new URL('./deploy-worker.ts', import.meta.url)))
  const progress = setInterval(() => void tellProgress(client, options), 5_000)
  try {
    const waited = await stages(options, client, load, crew)
    await crew.close()
    return { ...waited, ...(await outcome(client)), processes: crew.started, surprises: crew.surprises }
  } finally {
    clearInterval(progress)
    await crew.close()
    await load.close()
    await client.end()
  }
}

async function tellProgress(client: pg.Client, { tell = () => {} }: DeployOptions): Promise<void> {
  const { rows } = await client.query(
    `select state, count(*)::int as n from orders group by state union all select 'effects', count(*)::int from effects`,
  )
  tell(rows.map(({ state, n }) => `${state} ${n}`).join('  '))
}

/** Old alone → two and two, each restarted once → new alone → an old one for what only it can do. */
async function stages(options: DeployOptions, client: pg.Client, load: Load, crew: Crew) {
  const { url, leaseMs, aloneMs, sideBySideMs, tell = () => {} } = options
  const replace = async (place: number, version: AppVersion) => {
    const member = crew.at(place)
    const { child } = member
    crew.term(member, { url, leaseMs, version })
    await crew.replaced(member, child)
  }
  for (let place = 0; place < 4; place++) crew.add({ url, leaseMs, version: 'old' })
  await crew.complete()
  tell('four old workers')
  await sleep(aloneMs)
  const oldAlone = { audit: await standing(client, 'audit'), invoice: await standing(client, 'invoice') }
  await Promise.all([replace(0, 'new'), replace(1, 'new')])
  tell('two old and two new ones')
  await sleep(sideBySideMs / 2)
  await Promise.all([replace(0, 'new'), replace(2, 'old')])
  for (const place of [1, 3]) crew.kill(crew.at(place))
  await crew.complete()
  tell('two were restarted, two killed; still two and two')
  await sleep(sideBySideMs / 2)
  await Promise.all([replace(2, 'new'), replace(3, 'new')])
  tell('four new workers')
  await sleep(aloneMs)
  await load.end()
  await drained(client, ['ship', 'express', 'audit', 'invoice'])
  const newAlone = { legacy: await standing(client, 'legacy') }
  await replace(0, 'old')
  tell('an old worker for what only it can do')
  await drained(client, Object.keys(kinds) as Kind[])
  return { oldAlone, newAlone }
}

async function standing(client: pg.Client, kind: 'audit' | 'invoice' | 'legacy'): Promise<Standing> {
  const { rows } = await client.query(
    `select (select count(*) from orders where kind = $1 and state = 'open')::int as open,
      (select count(*) from regrow.hints where job = $1)::int as hints,
      (select count(*) from regrow.ledger where job = $1 and (failures > 0 or state = 'quarantined'))::int as failed`,
    [kind],
  )
  return rows[0] as Standing
}

async function drained(client: pg.Client, some: readonly Kind[]): Promise<void> {
  const left = `select kind, count(*)::int as n from orders where state = 'open' and kind = any ($1) group by kind`
  const until = performance.now() + drainMs
  while (performance.now() < until) {
    if ((await client.query(left, [some])).rows.length === 0) return
    await client.query('select pg_sleep(0.05)')
  }
}

async function outcome(client: pg.Client) {
  const { rows } = await client.query(`
    select (select count(*) from orders)::int as fed,
      (select count(*) from orders o where not exists (select 1 from effects e where e.id = o.id))::int as lost,
      (select count(*) from (select 1 from effects group by id having count(*) > 1) x)::int as doubled,
      (select count(*) from regrow.ledger where state = 'quarantined')::int as quarantined,
      (select count(*) from regrow.ledger where holder is not null)::int as "claimsLeft"`)
  const counted = await client.query(`select kind, version, count(*)::int as n from effects group by kind, version`)
  const effects = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, { old: 0, new: 0 }]))
  for (const { kind, version, n } of counted.rows) Object.assign(effects[kind] ?? {}, { [version]: n })
  return { ...rows[0], effects } as Omit<DeployResult, 'oldAlone' | 'newAlone' | 'processes' | 'surprises'>
}
