// What docs/postgres.md says of tables and roles is so: each table has its row, and the grants are enough for what each role is for.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { projectTexts } from './markdown.ts'

const suffix = randomUUID().slice(0, 8)
const roles = [`shop_worker_${suffix}`, `shop_web_${suffix}`, `shop_clock_${suffix}`, `shop_monitor_${suffix}`] as const
let database: FreshDatabase
let owner: pg.Client

beforeAll(async () => {
  database = await freshDatabase('roles')
  owner = new pg.Client({ connectionString: database.url })
  await owner.connect()
  const app = regrow({ store: postgres(database.url) })
  await operate(app).migrate()
  await app.close()
  await owner.query(`create table orders (id int primary key, state text not null)`)
  for (const role of roles) await owner.query(`create role ${role} login password 'secret'`)
  const grants = projectTexts()
    .flatMap(({ blocks }) => blocks)
    .filter(({ info }) => info === 'sql roles')
  expect(grants).toHaveLength(1)
  await owner.query((grants[0]?.code ?? '').replaceAll(/shop_(worker|web|clock|monitor)/g, `$&_${suffix}`))
  await owner.query(`grant select, update on orders to ${roles[0]}; grant insert on orders to ${roles[1]}`)
  await owner.query(`grant select on orders to ${roles[3]}`)
})
afterAll(async () => {
  for (const role of roles) await owner.query(`drop owned by ${role}; drop role ${role}`)
  await owner.end()
  await database.drop()
})

function declare(role: string) {
  const url = new URL(database.url)
  url.username = role
  url.password = 'secret'
  const app = regrow({ store: postgres(url.href), migrate: false })
  const ship = app.job('order.ship', {
    key: 'int',
    pending: sql`select id from orders where state = 'paid'`,
    run: (id, ctx) => ctx.tx((tx) => tx.query(`update orders set state = 'shipped' where id = $1`, [id])),
  })
  const mail = app.job('mail.send', { input: z.object({ to: z.string() }), run() {} })
  const close = app.job('shop.close', { schedule: { every: '1h' }, run() {} })
  return { app, ship, mail, close }
}

test('every table of the schema has a row in docs/postgres.md, and no other', async () => {
  const { rows } = await owner.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'regrow'::regnamespace and relkind in ('r', 'p', 'v', 'm') order by 1`,
  )
  const page = projectTexts().find(({ file }) => file === 'docs/postgres.md')
  const [, section = ''] = (page?.source ?? '').split(/^## Tables$/m)
  const named = [...(section.split(/^## /m)[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(named.sort()).toEqual(rows.map(({ name }) => name))
})

test('a role that adds schedules can do that and no more, with the grants of docs/postgres.md', async () => {
  const { app, mail } = declare(roles[2])
  const name = 'mail.often'
  await operate(app).schedules.add(name, { job: mail, input: { to: 'ada' }, every: '1h' })
  await operate(app).schedules.pause(name, { reason: 'too loud' })
  await operate(app).schedules.resume(name)
  await operate(app).schedules.run(name)
  expect(await operate(app).schedules.show(name)).toMatchObject({ name })
  await operate(app).schedules.end(name)
  await operate(app).schedules.remove(name)
  await expect(mail.enqueue({ to: 'ada' })).rejects.toThrow('permission denied')
  await app.close()
})

test('a role that reads sees everything and changes nothing, with the grants of docs/postgres.md', async () => {
  const { app, ship } = declare(roles[3])
  await operate(app).status()
  await operate(app).health()
  await operate(app).pauses()
  await operate(app).quarantine.list()
  await operate(app).schedules.list()
  expect(await operate(app).why('order.ship', 1)).toMatchObject({ reason: expect.any(String) })
  expect((await operate(app).doctor()).findings.filter(({ code }) => code === 'not_examined')).toEqual([])
  expect(await ship.enqueue(1)).toMatchObject({ status: 'dropped' })
  await expect(app.pause('order.ship', { reason: 'no' })).rejects.toThrow('permission denied')
  await app.close()
})

test('a worker and a web process work with the grants of docs/postgres.md, and the web process cannot take', async () => {
  const web = declare(roles[1])
  const work = declare(roles[0])
  const enqueued = await web.app.transaction(async (tx) => {
    await tx.query(`insert into orders values (1, 'paid')`)
    await web.ship.enqueue(1, { tx })
    return web.mail.enqueue({ to: 'ada' }, { tx, unique: 'ada' })
  })
  expect(enqueued.status).toBe('added')
  await web.app.transaction(async (tx) => {
    expect(await web.mail.enqueue({ to: 'ada' }, { tx, unique: 'ada' })).toMatchObject({
      key: enqueued.key,
      status: 'merged',
    })
  })
  expect(await web.mail.enqueue({ to: 'bob' }, { unique: 'bob' })).toMatchObject({ status: 'added' })
  // By each way that a push may go, and often enough for plans to be kept: those look at tables that others leave out.
  for (let times = 0; times < 20; times++)
    for (const jitter of [{}, { jitter: '1s' }])
      expect(await web.ship.enqueue(1, jitter as { jitter: '1s' })).not.toMatchObject({ status: 'dropped' })
  let left = 3
  const done = new Promise<void>((resolve) => work.app.on('job.settled', () => --left === 0 && resolve()))
  const worker = work.app.work()
  await done
  await operate(work.app).status()
  await operate(work.app).sweep()
  await work.app.pause('order.ship', { reason: 'a while' })
  await work.app.resume('order.ship')
  await worker.stop()
  expect((await owner.query(`select state from orders`)).rows).toEqual([{ state: 'shipped' }])
  await expect(operate(web.app).status()).rejects.toThrow('permission denied')
  await web.app.close()
  await work.app.close()
})
