// What the servers themselves can do, with nothing of regrow or a peer in between: the ceiling beside each row.
// The task comes as JSON in the first argument, the figures leave as JSON on stdout.
import { connect } from 'node:net'
import { createClient } from '@redis/client'
import pg from 'pg'
import type { Figures, Places, Task } from '../compare/task.ts'
import { inputOf, percentile, uuidOf } from './timing.ts'

const task: Task & Places = JSON.parse(process.argv[2] as string)
const { jobs } = task
const db = new pg.Pool({ connectionString: task.postgres, max: 4 })

const figures: Figures = {
  ...(task.redis ? await ofRedis(task.redis) : await ofQueueTable()),
  postgresCheck: await rate(500, 2, (ids) =>
    db.query(`select id from rows where state = 'pending' and id = any($1::text::bigint[])`, [`{${ids.join(',')}}`]),
  ),
  postgresUpdateMany: await rate(500, 2, (ids) =>
    db.query(`update rows set state = 'done' where id = any($1::text::bigint[])`, [`{${ids.join(',')}}`]),
  ),
  postgresUpdateOne: await updatesOne(),
  postgresInsert: await inserts(),
}
console.log(JSON.stringify(figures))
process.exit(0)

async function ofRedis(url: string): Promise<Figures> {
  const redis = createClient({ url })
  await redis.connect()
  // One call per thousand ids, made of three batched commands.
  const pushHash = await redis.scriptLoad(`
local known = redis.call('SMISMEMBER', KEYS[1], unpack(ARGV))
local added = redis.call('SADD', KEYS[1], unpack(ARGV))
redis.call('RPUSH', KEYS[2], unpack(ARGV))
return added`)
  return {
    redisPush: await sent(url, 1_000, (ids) => ['EVALSHA', pushHash, '2', 'set', 'list', ...ids], ':'),
    redisPop: await sent(url, 500, () => ['LPOP', 'list', '500'], '*'),
    redisRoundTrip: await roundTrip(() => redis.ping()),
  }
}

/** A bare queue: an UNLOGGED table of short keys with one index, filled and emptied by statements of thousands. */
async function ofQueueTable(): Promise<Figures> {
  await db.query(`create unlogged table bare (key text collate "C" primary key)`)
  const push = `insert into bare select key from unnest($1::text[]) key order by key on conflict do nothing`
  const pop = `delete from bare where key in
    (select key from bare where key > $1 order by key limit 1000 for update skip locked) returning key`
  const postgresPush = await rate(5_000, 2, (ids) => db.query({ name: 'push', text: push, values: [ids] }))
  let last = ''
  const postgresPop = await rate(1_000, 1, async () => {
    const { rows } = await db.query({ name: 'pop', text: pop, values: [last] })
    last =
      rows
        .map(({ key }) => key as string)
        .sort()
        .at(-1) ?? last
  })
  return { postgresPush, postgresPop, postgresRoundTrip: await roundTrip(() => db.query('select 1')) }
}

/** Ids per second, in calls of `size` ids, so many of them under way at a time. */
async function rate(size: number, abreast: number, call: (ids: string[]) => Promise<unknown>): Promise<number> {
  let next = 1
  const lane = async () => {
    while (next <= jobs) {
      const from = next
      next += size
      await call(Array.from({ length: Math.min(size, jobs - from + 1) }, (_, n) => String(from + n)))
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: abreast }, lane))
  return jobs / ((performance.now() - start) / 1000)
}

/** Ids per second of commands that were encoded before and are sent in one go: no client has a part in it. */
async function sent(
  url: string,
  size: number,
  command: (ids: string[]) => string[],
  reply: ':' | '*',
): Promise<number> {
  const encoded = Array.from({ length: Math.ceil(jobs / size) }, (_, page) => {
    const words = command(Array.from({ length: size }, (_, n) => String(page * size + n + 1)))
    return Buffer.from(`*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`)
  })
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await new Promise((resolve) => socket.once('connect', resolve))
  let left = encoded.length
  const answered = new Promise<void>((resolve) =>
    socket.on('data', (chunk) => {
      left -= chunk.toString('latin1').split(reply).length - 1
      if (left <= 0) resolve()
    }),
  )
  const start = performance.now()
  for (const each of encoded) socket.write(each)
  await answered
  const seconds = (performance.now() - start) / 1000
  socket.destroy()
  return (encoded.length * size) / seconds
}

async function roundTrip(call: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let n = 0; n < 500; n++) {
    const start = performance.now()
    await call()
    took.push(performance.now() - start)
  }
  return percentile(took, 0.5)
}

/** Statements of one row with a commit each, many under way on a few pipelined connections. */
async function updatesOne(): Promise<number> {
  const clients = Array.from(
    { length: 16 },
    () => new pg.Client({ connectionString: task.postgres, pipeline: true } as pg.ClientConfig),
  )
  for (const client of clients) await client.connect()
  const count = Math.min(jobs, 20_000)
  const start = performance.now()
  await Promise.all(
    Array.from({ length: 500 }, async (_, lane) => {
      const client = clients[lane % clients.length] as pg.Client
      for (let id = lane + 1; id <= count; id += 500)
        await client.query({ name: 'one', text: `update rows set state = 'pending' where id = $1`, values: [id] })
    }),
  )
  return count / ((performance.now() - start) / 1000)
}

/** Rows with a uuid and a small JSON text, a thousand per statement. */
async function inserts(): Promise<number> {
  await db.query(`create table inputs (id uuid primary key, input jsonb not null)`)
  const text = `insert into inputs select r.id, r.input from jsonb_to_recordset($1::text::jsonb) as r (id uuid, input jsonb)`
  return rate(1_000, 2, (ids) =>
    db.query(text, [JSON.stringify(ids.map((id) => ({ id: uuidOf(Number(id)), input: inputOf(Number(id)) })))]),
  )
}
