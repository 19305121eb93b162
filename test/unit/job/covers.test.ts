// What users give as `covers` is read, and every mistake in it is told with the other mistakes of the declaration.
import { expect, test } from 'vitest'
import { readJob } from '../../../src/job/job.ts'
import { sql } from '../../../src/job/sql.ts'

const pending = sql`select id from databases where state = 'pending'`
const read = (covers: unknown) => readJob('database.create', { pending, covers })
const mistakes = (covers: unknown) => read(covers).mistakes.map((text) => text.replace('job "database.create"', 'job'))

test('one column or several are covered; values are texts as Postgres writes them', () => {
  const { job, mistakes: none } = read([
    { table: 'databases', column: 'state', terminal: ['ready', 7, true, null] },
    { table: 'app.backups', column: 'phase', key: ['tenant', 'id'] },
  ])
  expect(none).toEqual([])
  expect(job.covers).toEqual([
    { table: 'databases', column: 'state', terminal: ['ready', '7', 'true', null], waits: {}, key: null },
    { table: 'app.backups', column: 'phase', terminal: null, waits: {}, key: ['tenant', 'id'] },
  ])
  expect(readJob('database.create', { pending }).job.covers).toEqual([])
})

test('values in which rows wait for something else are named with the reason', () => {
  const covers = { table: 'branches', column: 'state', terminal: ['ready'] }
  expect(read({ ...covers, waits: { attaching: 'its database is ready' } }).job.covers[0]?.waits).toEqual({
    attaching: 'its database is ready',
  })
  for (const waits of [['attaching'], 'attaching', { attaching: true }, { attaching: ' ' }, null])
    expect(mistakes({ ...covers, waits })).toEqual([
      `job: \`covers\`.waits is ${JSON.stringify(waits)}; expected a reason by value, such as { attaching: 'its database is ready' }`,
    ])
  expect(mistakes({ ...covers, waits: { ready: 'x' } })).toEqual([
    'job: `covers`: ready is in `terminal` and in `waits`; a row waits, or is done',
  ])
})

test('every mistake is told, with a guess for a misspelt option', () => {
  expect(mistakes('databases')).toEqual([
    `job: \`covers\` is "databases"; expected { table: 'databases', column: 'state', terminal: ['ready'] }`,
  ])
  expect(mistakes({ tabel: 'databases', column: '', terminal: 'ready', key: [] })).toEqual([
    'job, `covers`: unknown option "tabel"; did you mean "table"?',
    'job: `covers`.table is undefined; expected the name of a table',
    'job: `covers`.column is ""; expected the name of a column',
    `job: \`covers\`.terminal is "ready"; expected a list of values, such as ['ready', 'failed']`,
    'job: `covers`.key is []; expected the name of a column, or a list of them',
  ])
  const state = { table: 'databases', column: 'state' }
  expect(mistakes([state, state, { ...state, terminal: [{}] }])).toEqual([
    'job: `covers[2]`.terminal holds object; expected texts, numbers, booleans or null',
    'job: `covers` names databases.state twice; once is enough',
  ])
  expect(mistakes([])).toEqual(['job: `covers` is an empty list; leave it out'])
})

test('only a job whose work is rows covers a table', () => {
  const input = { '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) } }
  const { mistakes: told } = readJob('mail', { input, covers: { table: 'a', column: 'b' } })
  expect(told).toEqual(['job "mail": `covers` belongs to `pending` jobs: it is about rows of yours'])
})
