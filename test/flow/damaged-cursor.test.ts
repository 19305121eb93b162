// The place of a sweep is a text in a table. One that is no key of the job was written by somebody else, or for another key type (L10).
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { App } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { openPglite, World } from './world.ts'

let db: PGlite
let world: World
beforeAll(async () => {
  db = await openPglite('create table things (a int not null, b uuid not null, primary key (a, b))')
})
beforeEach(async () => {
  world = await World.begin(db, 'things')
  await world.query(`insert into things values (1, '00000000-0000-0000-0000-000000000001')`)
})
afterAll(() => db.close())

const id = '00000000-0000-0000-0000-000000000001'
const jobs: readonly [what: string, cursor: string, declare: (app: App, run: () => void) => unknown][] = [
  ['a number', 'garbage', (app, run) => app.job('thing', { key: 'int', pending: sql`select a from things`, run })],
  ['a uuid', '17', (app, run) => app.job('thing', { key: 'uuid', pending: sql`select b from things`, run })],
  [
    'two columns',
    '["1"]',
    (app, run) => app.job('thing', { key: { a: 'int', b: 'uuid' }, pending: sql`select a, b from things`, run }),
  ],
  [
    'a source of the own',
    '{',
    (app, run) =>
      app.job('thing', {
        key: 'uuid',
        pending: {
          page: async (after: string | null) => (after === null ? [{ key: id }] : []),
          isPending: async (keys: readonly string[]) => keys.map((key) => ({ key })),
        },
        run,
      }),
  ],
]

test.each(jobs)(
  'a cursor that is no key: the pass of a job whose key is %s begins anew',
  async (_, cursor, declare) => {
    const { app, ear } = world.app()
    let runs = 0
    declare(app, () => {
      runs++
    })
    await world.work(app)
    await world.until(() => runs > 0)
    const passes = () => ear.of('sweep.passed', { finished: true }).length
    await world.until(() => passes() > 0)
    const before = passes()
    await world.query('update regrow.sweeps set cursor = $1, holder = null, next_at = regrow.clock()', [cursor])
    await world.until(() => passes() > before || ear.of('sweep.failed').length > 0, 10_000)
    expect(ear.of('sweep.failed')).toEqual([])
  },
)
