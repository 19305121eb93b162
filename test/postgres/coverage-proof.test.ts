// Is a proof one? Random pending queries over a table that holds every combination of its columns: what is proven never to
// be claimed, no row shows to be claimed; and a query that asks for the state alone leaves nothing unknown.

import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { seededRandom } from '../sim/seeded-random.ts'

const states = ['new', 'paid', 'odd one', 'done']
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const queries = Number(process.env.QUERIES ?? 25)

let database: FreshDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await freshDatabase('coverage_proof')
  pool = new pg.Pool({ connectionString: database.url, max: 4 })
  await pool.query(`
    create type state as enum (${states.map((state) => `'${state}'`).join(', ')});
    create table full_house (id serial primary key, state state, n int, flag boolean, note text);
    insert into full_house (state, n, flag, note)
      select s, n, f, t from unnest(enum_range(null::state) || null::state) s, unnest(array[0, 1, 5, 30000, null]) n,
        unnest(array[true, false, null]) f, unnest(array['new', '', 'x', null]) t;
    create table no_rows (like full_house including all);
    create table others (id int primary key, state text); insert into others values (1, 'paid'), (7, 'x')`)
  await operate(regrow({ store: postgres(pool) })).migrate()
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

type Pick = <T>(list: readonly T[]) => T

/** A condition, and whether it asks for the state alone. */
function condition(pick: Pick, depth: number): { text: string; alone: boolean } {
  if (depth > 0 && pick([true, true, false])) {
    const [a, b] = [condition(pick, depth - 1), condition(pick, depth - 1)]
    const text = pick([
      `(${a.text} and ${b.text})`,
      `(${a.text} or ${b.text})`,
      `not (${a.text} and ${b.text})`,
      `case when ${a.text} then ${b.text} else false end`,
      `coalesce(${a.text}, ${b.text})`,
    ])
    return { text, alone: a.alone && b.alone }
  }
  const [one, other] = [pick(states), pick(states)]
  const ofState = [
    `t.state = '${one}'`,
    `t.state <> '${one}'`,
    `t.state in ('${one}', '${other}')`,
    `t.state not in ('${one}', '${other}')`,
    `t.state = any (array['${one}', '${other}']::state[])`,
    `t.state is null`,
    `t.state is not null`,
    `t.state > '${one}'`,
    `t.state::text = '${one}'`,
    `t.state::text like '${one[0]}%'`,
    `t.state is distinct from '${one}'`,
    `(t.state = '${one}') is not true`,
  ]
  const ofOthers = [
    't.n < 3',
    't.n is null',
    't.flag',
    'not t.flag',
    `t.note = t.state::text`,
    `exists (select from others o where o.id = t.id)`,
    `exists (select from others o where o.state = t.state::text)`,
    `(t.state, t.n) in (('${one}', 1), ('${other}', 5))`,
    `t.n > (select min(id) from others)`,
  ]
  const alone = pick([true, true, false])
  return { text: pick(alone ? ofState : ofOthers), alone }
}

/** Forms that a query may have around its condition. */
const forms = (table: string, where: string): string[] => [
  `select t.id from ${table} t where ${where}`,
  `select t.id from public.${table} t where ${where} order by t.id`,
  `select distinct t.id from ${table} as t where ${where}`,
  `with x as (select * from ${table} t where ${where}) select id from x`,
  `select t.id from ${table} t where ${where} union all select t.id from ${table} t where t.n = 1 and (${where})`,
  `select t.id from ${table} t left join others o on o.id = t.id where ${where}`,
  `select t.id from ${table} t where ${where} group by t.id`,
]

async function claimsOf(table: string, text: string) {
  const app = regrow({ store: postgres(pool), migrate: false })
  app.job('some.job', { key: 'int', pending: { text, values: [] }, covers: { table, column: 'state', terminal: [] } })
  const { columns, findings } = await operate(app).coverage()
  expect(findings.filter(({ code }) => /^cover/.test(code))).toEqual([])
  return new Map(
    columns[0]?.values.map(({ value, claims, unclaimed }) => [value, { proof: claims[0]?.proof, unclaimed }]),
  )
}

test(`what is proven holds for every row (seed ${seed})`, async () => {
  const random = seededRandom(seed)
  const pick: Pick = (list) => list[Math.floor(random.float() * list.length)] as never
  const tally = { never: 0, claimed: 0, unknown: 0 }
  for (let i = 0; i < queries; i++) {
    const { text: where, alone } = condition(pick, pick([0, 1, 2]))
    const form = pick([0, 1, 2, 3, 4, 5, 6])
    const text = forms('full_house', where)[form] as string
    const { rows } = await pool.query(
      `select t.state::text, count(*)::int as all, count(q.id)::int as returned
       from full_house t left join (select distinct id from (${text}) q) q on q.id = t.id group by 1`,
    )
    const [full, empty] = [
      await claimsOf('full_house', text),
      await claimsOf('no_rows', forms('no_rows', where)[form] as string),
    ]
    for (const { state, all, returned } of rows) {
      const about = `seed ${seed}, query ${i}: ${text}\nstate ${state}: ${returned} of ${all} rows`
      const seen = full.get(state)
      // By rows: exact.
      expect(seen?.proof === 'rows', about).toBe(returned > 0)
      expect(seen?.unclaimed?.count, about).toBe(all - returned)
      // Without rows: a proof is one, a trial shows something, and a query that asks for the state alone is told apart.
      const blind = empty.get(state)
      if (state === null) continue
      if (blind?.proof === undefined) expect(returned, about).toBe(0)
      if (blind?.proof === 'trial') expect(returned, about).toBeGreaterThan(0)
      if (alone) expect(blind?.proof, about).toBe(returned > 0 ? 'trial' : undefined)
      tally[blind?.proof === undefined ? 'never' : blind.proof === 'trial' ? 'claimed' : 'unknown']++
    }
  }
  console.log(`coverage by proof, seed ${seed}: ${JSON.stringify(tally)}`)
  expect(tally.never).toBeGreaterThan(0)
  expect(tally.claimed).toBeGreaterThan(0)
}, 60_000)
