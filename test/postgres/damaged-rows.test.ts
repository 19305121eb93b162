// Somebody wrote nonsense into one row of regrow's own tables: instants without end, numbers at the end of their type, texts that are
// no keys. It costs that row alone: everything else goes on, and what has a clear meaning is put right (L10).
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type App, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { seededRandom } from '../sim/seeded-random.ts'
import { Sweeping } from './sweeping.ts'

let sweeping: Sweeping
beforeAll(async () => {
  sweeping = await Sweeping.open(
    'damaged',
    `create table tasks (id bigint generated always as identity primary key, kind text not null, state text not null default 'pending');
     create table ticks (schedule text not null);`,
  )
})
beforeEach(async () => {
  await sweeping.query(
    `truncate tasks, ticks, regrow.sweeps, regrow.ledger, regrow.hints, regrow.schedules, regrow.slots, regrow.workers, regrow.pauses, regrow.intents`,
  )
})
afterEach(() => sweeping.rest())
afterAll(() => sweeping.close())

/** Two jobs whose rows nobody enqueues, and two schedules of each second. */
function declare(app: App) {
  const ofKind = (kind: string) =>
    app
      .job(kind, {
        key: 'bigint',
        pending: sql`select id from tasks where kind = ${kind} and state = 'pending'`,
        sweep: { every: '1s' },
      })
      .handle((id, ctx) => ctx.tx((tx) => tx.query(`update tasks set state = 'done' where id = $1`, [id])))
  const recurring = (name: string) =>
    app
      .job(name, { schedule: { every: '1s' } })
      .handle((_, ctx) => ctx.tx((tx) => tx.query(`insert into ticks (schedule) values ($1)`, [name])))
  return [ofKind('a'), ofKind('b'), recurring('tick.a'), recurring('tick.b')]
}

const ticks = (schedule: string) =>
  sweeping.number(`select count(*)::int as n from ticks where schedule = '${schedule}'`)
const pending = () => sweeping.number(`select count(*)::int as n from tasks where state = 'pending'`)
const bad = async (app: App) =>
  (await operate(app).health()).findings.filter(({ level }) => level === 'bad').map(({ code }) => code)

const soon = { timeout: 30_000, interval: 50 }
const most = '9223372036854775807'
const instants = ['infinity', '-infinity', '294276-12-31 23:59:59+00', '4713-01-01 00:00:00+00 BC']

const sweep = (column: string, value: string | number) =>
  `update regrow.sweeps set ${column} = '${value}' where job = 'a'`
const schedule = (column: string, value: string | number) =>
  `update regrow.schedules set ${column} = '${value}' where name = 'tick.a'`
const worker = (at: string, leaseMs: string, jobs = '{}') =>
  `insert into regrow.workers (id, host, pid, jobs, started_at, beat_at, lease_ms)
   values (gen_random_uuid(), 'x', 1, '${jobs}', ${at}, ${at}, ${leaseMs})`
/** Of the row of job a that waits longest: it is inserted with it. */
const ledger = (columns: string, values: string) =>
  `insert into regrow.ledger (job, key, ${columns}) select 'a', max(id)::text, ${values} from tasks where kind = 'a'`

/** What is written into which table, one statement after the other. */
const damages: Readonly<Record<string, readonly string[]>> = {
  'instants of a sweep': [
    ...instants.flatMap((at) => ['next_at', 'until'].map((column) => sweep(column, at))),
    ...['last_attempt_at', 'last_success_at', 'audited_at', 'ramped_at', 'oldest_at'].flatMap((column) =>
      ['infinity', '-infinity'].map((at) => sweep(column, at)),
    ),
  ],
  'counts and texts of a sweep': [
    ...['term', 'every_ms', 'seen', 'pushed', 'pass_seen', 'pending', 'stalled', 'pass_unusable'].map((column) =>
      sweep(column, most),
    ),
    sweep('term', `-${most}`),
    sweep('errors', 2_147_483_647),
    sweep('cursor', 'garbage'),
    sweep('sample', '"garbage"'),
    sweep('sample', '{"garbage": "x"}'),
    `update regrow.sweeps set holder = 'x', until = null where job = 'a'`,
  ],
  'the pulse, workers, pauses and marks': [
    ...instants.map((at) => worker(`'${at}'`, 'null')),
    worker('regrow.clock()', most),
    worker('regrow.clock()', 'null', '[1]'),
    ...instants.map(
      (at) =>
        `update regrow.pulse set beat_at = '${at}', grace_until = '${at}', audit_at = '${at}', set_back_at = '${at}'`,
    ),
    `insert into regrow.pauses (job, reason, author, since, until) values ('other', 'x', 'x', 'infinity', 'infinity')`,
    `update regrow.marks set sequence = ${most}`,
    `update regrow.marks set bumped_at = 'infinity', epoch_at = '-infinity'`,
  ],
  'the ledger': [
    ...instants.map((at) => ledger('state, failures, retry_at', `'retrying', 1, '${at}'`)),
    ...instants.map((at) => ledger('state, failures, updated_at', `'retrying', 1, '${at}'`)),
    ledger('state, holder, take, crashes, solo_crashes', `'running', 'dead', 1, 2147483647, 2147483647`),
    ledger('state, failures', `'retrying', 2147483647`),
  ],
  schedules: [
    ...['from_at', 'last_slot', 'seen_at', 'start_at', 'end_at', 'ran_until', 'created_at'].flatMap((column) =>
      ['infinity', '-infinity'].map((at) => schedule(column, at)),
    ),
    ...['term', 'jitter_ms', 'every_ms'].map((column) => schedule(column, most)),
    schedule('version', 2_147_483_647),
    schedule('tz', 'Nowhere/Else'),
    `update regrow.schedules set every_ms = null, cron = 'garbage' where name = 'tick.a'`,
    `update regrow.slots set due_at = 'infinity' where schedule = 'tick.a' and state = 'waiting'`,
    `insert into regrow.slots (schedule, slot, version, lane, key, due_at, state, made_at)
     values ('tick.a', 'infinity', 1, 'tick.a', 'x', 'infinity', 'waiting', regrow.clock())`,
  ],
}

/** A few of each kind, others in each run; all of them take four minutes: REGROW_DAMAGES=all npm test -- damaged-rows. */
const all = process.env.REGROW_DAMAGES === 'all'
const seed = Number(process.env.REGROW_SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
const random = seededRandom(seed)
const chosen = (statements: readonly string[]) => {
  if (all) return statements
  const drawn = statements.map((statement) => ({ statement, at: random.float() })).sort((a, b) => a.at - b.at)
  return drawn.slice(0, 3).map(({ statement }) => statement)
}

test.each(Object.entries(damages))('%s', { timeout: 240_000 }, async (_, every) => {
  const statements = chosen(every)
  console.log(`REGROW_SEED=${seed} writes\n  ${statements.join('\n  ')}`)
  const { app, ear } = sweeping.app({ lease: '3s' })
  await sweeping.work(app, { handlers: declare(app) })
  await ear.until(() => ['a', 'b'].every((job) => ear.of('sweep.passed', { job, finished: true }).length > 0))
  for (const statement of statements) {
    const [a, b] = [await ticks('tick.a'), await ticks('tick.b')]
    const session = await sweeping.session()
    try {
      await session.query('begin')
      await session.query(`insert into tasks (kind) values ('a'), ('b')`)
      await session.query(statement)
      await session.query('commit')
    } finally {
      await session.end()
    }
    await expect.poll(pending, { ...soon, message: statement }).toBe(0)
    await expect.poll(() => ticks('tick.a'), { ...soon, message: statement }).toBeGreaterThan(a)
    await expect.poll(() => ticks('tick.b'), { ...soon, message: statement }).toBeGreaterThan(b)
  }
  // What fails no statement waits for the look of each minute.
  await expect.poll(() => bad(app), { ...soon, timeout: 70_000 }).toEqual([])
})
