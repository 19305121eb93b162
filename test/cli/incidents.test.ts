// The stories of docs/incidents.md: the commands of the page, word for word and in its order, against real workers, a real
// Postgres and a real Redis. Here is what happens between them; the page says what is typed, and what is printed.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis } from '../../tools/services/index.ts'
import { type Block, parse, root } from '../docs/markdown.ts'
import type { Running } from '../processes/cli.ts'
import { cliOnPostgres } from '../processes/cli-postgres.ts'

const page = parse('docs/incidents.md', readFileSync(`${root}docs/incidents.md`, 'utf8'))
const jobs = page.blocks.find(({ info }) => info === 'ts file=jobs.ts')?.code ?? ''

/** A carrier that is as good as its deploy, and does not know one address until it is corrected. */
const carrier = `
import pg from 'pg'
const pool = new pg.Pool({ connectionString: process.env.SHOP_DATABASE, max: 1, allowExitOnIdle: true })
export const carrier = {
  async book(id) {
    if (process.env.DEPLOY === 'bad' && id !== 1042) throw new TypeError("Cannot read properties of undefined (reading 'weight')")
    if (id !== 1042) return new Promise((done) => setTimeout(done, 10))
    const { rows } = await pool.query('select address from orders where id = $1', [id])
    if (rows[0].address === 'nowhere') throw new Error('carrier: no such address')
  },
}`

let redis: Awaited<ReturnType<typeof startRedis>>
beforeAll(async () => {
  redis = await startRedis()
})

const on = cliOnPostgres({
  name: 'incidents',
  tables: `create type order_state as enum ('cart', 'paid', 'shipped');
    create table orders (id int primary key, state order_state not null default 'paid', address text not null default 'somewhere',
      parcels int not null default 0)`,
  emptied: 'orders, regrow.heals',
  env: (url) => ({ SHOP_DATABASE: url, REDIS_URL: redis.url(), REGROW_AUTHOR: 'ann' }),
  files: {
    'jobs.js': jobs,
    'carrier.js': carrier,
    'package.json': JSON.stringify({ type: 'module', regrow: { app: './jobs.js' } }),
  },
})

afterAll(() => redis?.close())

/** A story of the page: its commands in order, each with what the page says that it prints. */
class Story {
  readonly #steps: { readonly command: string; readonly printed: string[] }[]

  constructor(title: string) {
    const from = page.source.split('\n').indexOf(`## ${title}`) + 1
    const to = page.source.split('\n').findIndex((line, i) => i >= from && line.startsWith('## '))
    const blocks = page.blocks.filter(({ line }) => line > from && (to < 0 || line < to))
    this.#steps = blocks.flatMap(({ info, code }, i) => {
      const next: Block | undefined = blocks[i + 1]
      return info === 'sh' ? [{ command: code.trim(), printed: next?.info === 'text' ? lines(next.code) : [] }] : []
    })
    expect(this.#steps.length).toBeGreaterThan(1)
  }

  /** Types the next command of the page. It has to end with `code`, and print the lines of the page in their order. */
  async types(begin: string, code = 0): Promise<void> {
    const step = this.#steps.shift()
    expect(step?.command).toMatch(new RegExp(`^npx regrow ${begin}`))
    const { command, printed } = step as NonNullable<typeof step>
    const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
    const ended = await on.project.run(...words.slice(2))
    expect({ command, ...ended }).toMatchObject({ code, stderr: '' })
    const told = lines(ended.stdout)
    let at = 0
    for (const line of printed) {
      const found = told.findIndex((each, i) => i >= at && pattern(line).test(each))
      expect(found, `${command}\nhas to print\n${line}\nand printed\n${ended.stdout}`).toBeGreaterThanOrEqual(0)
      at = found + 1
    }
  }

  isOver(): void {
    expect(this.#steps).toEqual([])
  }
}

const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '')
/** A line of the page: `…` is what differs each time, and columns are as wide as they need to be. */
const pattern = (line: string) =>
  new RegExp(`^${line.trim().split('…').map(escaped).join('.*')}$`.replace('^', '^\\s*'))
const escaped = (text: string) => text.replace(/[.*+?^$()[\]{}|\\]/g, '\\$&').replaceAll(/\s+/g, '\\s+')

const shipped = (count: number) => on.until(`select count(*) = ${count} from orders where state = 'shipped'`)
const parcels = async () =>
  (await on.client.query('select parcels, count(*)::int from orders group by 1 order by 1')).rows

async function ends(worker: Running): Promise<void> {
  worker.child.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
}

test('the queue is flushed at peak: every order is shipped, each once', async () => {
  const story = new Story('The queue is flushed at peak')
  await on.client.query('insert into orders (id) select * from generate_series(1, 1000)')
  const [first, second] = [on.project.start('work'), await on.started()]
  await first.says('working')
  await on.until(`select count(*) >= 100 from orders where state = 'shipped'`)
  await redis.command('FLUSHALL')
  await on.until('select count(*) = 1 from regrow.heals where ended_at is not null')
  await story.types('status --check')
  await shipped(1000)
  await story.types('sweep order.ship --dry-run')
  story.isOver()
  expect(await parcels()).toEqual([{ parcels: 1, count: 1000 }])
  await Promise.all([ends(first), ends(second)])
  // The first block of the page that no command stands before: what a worker writes.
  const log = page.blocks.find(({ info }, i) => info === 'text' && page.blocks[i - 1]?.info !== 'sh')?.code ?? ''
  expect(lines(log)).toHaveLength(2)
  const said = lines(`${(await first.ended).stderr}\n${(await second.ended).stderr}`)
  for (const line of lines(log))
    expect(
      said.some((each) => pattern(line).test(each)),
      line,
    ).toBe(true)
}, 60_000)

test('a deploy fails every job: what it broke is released, and what failed for another reason is not', async () => {
  const story = new Story('A deploy fails every job')
  await on.client.query(`insert into orders (id, address) values (1042, 'nowhere')`)
  await on.client.query('insert into orders (id) select * from generate_series(1, 40)')
  on.project.env.DEPLOY = 'bad'
  const bad = await on.started()
  await on.until(`select count(*) = 41 from regrow.ledger where state = 'quarantined'`)
  await story.types('status --check')
  await story.types('quarantine errors')
  await story.types('pause order.ship')
  on.project.env.DEPLOY = ''
  await ends(bad)
  await on.client.query('insert into orders (id) values (41)')
  await on.started()
  await story.types('quarantine release')
  expect(await parcels()).toEqual([{ parcels: 0, count: 42 }])
  await story.types('resume order.ship')
  await shipped(41)
  await story.types('status --check')
  story.isOver()
  expect(await parcels()).toEqual([
    { parcels: 0, count: 1 },
    { parcels: 1, count: 41 },
  ])
}, 60_000)

test('a row does not run: why and doctor say what it waits for, and then it runs', async () => {
  const story = new Story('A row does not run')
  await on.client.query(`insert into orders (id, address) values (1042, 'nowhere')`)
  const worker = await on.started()
  await on.until(`select count(*) = 1 from regrow.ledger where state = 'quarantined'`)
  await story.types('why order.ship 1042')
  await on.client.query(`update orders set address = 'somewhere else' where id = 1042`)
  await story.types('quarantine release order.ship 1042')
  await shipped(1)
  await story.types('why order.ship 1042')
  await on.client.query(`alter type order_state add value 'backordered'`)
  await on.client.query(
    `insert into orders (id, state) values (1043, 'backordered'), (1044, 'backordered'), (1045, 'backordered')`,
  )
  await story.types('why order.ship 1043')
  await story.types('doctor', 1)
  on.project.write('jobs.js', jobs.replace(`in ('paid')`, `in ('paid', 'backordered')`))
  await ends(worker)
  await on.started()
  await story.types('doctor')
  await shipped(4)
  await story.types('sweep order.ship --dry-run')
  await story.types('why order.ship 1043')
  story.isOver()
  expect(await parcels()).toEqual([{ parcels: 1, count: 4 }])
}, 60_000)
