// What `npm run bench -- redis` and `-- postgres` print: the object for programs, the table for people, the page that is
// checked in.
import { expect, test } from 'vitest'
import { rowOf } from '../../../bench/compare/figures.ts'
import { jsonOf, type Run, sectionOf, textOf } from '../../../bench/compare/report.ts'
import type { RowSpec } from '../../../bench/compare/row.ts'
import { postgresComparison } from '../../../bench/postgres/main.ts'
import { scenes as postgresScenes } from '../../../bench/postgres/rows.ts'
import { redisComparison } from '../../../bench/redis/main.ts'
import { scenes as redisScenes } from '../../../bench/redis/rows.ts'

const comparisons = [
  { bench: redisComparison, specs: redisScenes(true).flat(), whole: redisScenes(false).flat() },
  { bench: postgresComparison, specs: postgresScenes(true).flat(), whole: postgresScenes(false).flat() },
] as const
const [redis, postgres] = comparisons

function run(specs: readonly RowSpec[], invalid: string[] = []): Run {
  return {
    rows: specs.map((spec) => {
      const peers = Object.fromEntries(Object.keys(spec.peers).map((name, n) => [name, 10 + n]))
      return rowOf(spec, [{ regrow: 30, peers }])
    }),
    invalid,
    limits: { redisPush: 1_000_000, postgresPush: 500_000, postgresCheck: 200_000 },
    versions: { regrow: '0.1.0', bullmq: '6.7.0' },
    settings: { redis: { save: '' } },
    machine: '2 cores',
    pairs: 1,
    quick: true,
    busyMax: 0.05,
    at: '2026-01-02T03:04:05.000Z',
  }
}

/** The cells of the line that begins with that id. */
function line(text: string, id: string): string[] {
  const found = text.split('\n').find((each) => each.startsWith(`${id} `))
  return (found ?? '').split(/ {2,}/)
}

test('the rows are those that were agreed on, each once', () => {
  expect(redis.specs.map(({ id }) => id).sort()).toEqual(
    [
      'redis.bulk',
      'redis.bulk.four',
      'redis.bulk.intents',
      'redis.drain.none',
      'redis.drain.claim.many',
      'redis.drain.claim',
      'redis.pickup.none',
      'redis.pickup.claim',
      'redis.bytes.short',
      'redis.bytes.uuid',
      'redis.rebuild',
      'redis.recover',
    ].sort(),
  )
  expect(postgres.specs.map(({ id }) => id).sort()).toEqual(
    [
      'postgres.bulk',
      'postgres.bulk.four',
      'postgres.bulk.intents',
      'postgres.bulk.intents.four',
      'postgres.single',
      'postgres.drain.claim',
      'postgres.drain.claim.many',
      'postgres.drain.none',
      'postgres.pickup.claim',
      'postgres.bytes',
      'postgres.rebuild',
    ].sort(),
  )
})

test('every row on Postgres has both peers, and a mark for each of them; those of four callers are only shown', () => {
  const both = ['pg-boss', 'graphile-worker']
  for (const { id, peers, mark } of postgres.specs) {
    expect(Object.keys(peers), id).toEqual(both)
    expect(mark && Object.keys(mark), id).toEqual(id.endsWith('.four') ? null : both)
  }
})

test('a row without a mark is neither met nor missed', () => {
  const shown = postgres.specs.filter(({ id }) => id === 'postgres.bulk.four')
  const text = textOf(postgres.bench, run(shown), shown)
  expect(text).toContain('3.00× / 2.73×')
  expect(text).not.toMatch(/met|MISSED/)
})

test.each(comparisons)('$bench.name: a quick run has the same rows and marks with fewer jobs', ({ specs, whole }) => {
  expect(specs.map(({ id, mark }) => [id, mark])).toEqual(whole.map(({ id, mark }) => [id, mark]))
  for (const [at, { regrow }] of specs.entries())
    expect(regrow.task.jobs).toBeLessThan(whole[at]?.regrow.task.jobs as number)
})

test.each(comparisons)('$bench.name: the JSON has rows with id, unit, regrow, peers and ratio', ({ specs }) => {
  const { rows, invalid } = JSON.parse(jsonOf(run(specs)))
  expect(invalid).toBeUndefined()
  expect(rows).toHaveLength(specs.length)
  for (const row of rows) {
    expect(row).toMatchObject({ id: expect.any(String), unit: expect.any(String), regrow: 30 })
    const values = Object.values<number>(row.peers)
    const better = specs.find(({ id }) => id === row.id)?.better === 'higher' ? Math.max : Math.min
    expect(row.ratio).toBe(values.length === 0 ? null : 30 / better(...values))
  }
})

test.each(comparisons)(
  '$bench.name: an invalid run says so in JSON, in the text and on the page',
  ({ bench, specs }) => {
    const bad = run(specs, ['BullMQ bulk: 1 jobs/s'])
    expect(JSON.parse(jsonOf(bad)).invalid).toEqual(['BullMQ bulk: 1 jobs/s'])
    for (const text of [textOf(bench, bad, specs), sectionOf(bench, bad, specs)]) {
      expect(text).toContain('INVALID')
      expect(text).toContain('BullMQ bulk: 1 jobs/s')
    }
    expect(textOf(bench, run(specs), specs)).not.toContain('INVALID')
  },
)

test('every drain and pick-up shows its guard', () => {
  const text = textOf(redis.bench, run(redis.specs), redis.specs)
  expect(line(text, 'redis.drain.none')[1]).toBe('none')
  expect(line(text, 'redis.drain.claim.many')[1]).toBe('claim')
  expect(line(text, 'redis.drain.claim')[1]).toBe('claim')
  expect(line(text, 'redis.pickup.none')[1]).toBe('none')
  expect(line(text, 'redis.pickup.claim')[1]).toBe('claim')
})

test('another way of the same peer stands in its column with its name', () => {
  const text = textOf(redis.bench, run(redis.specs), redis.specs)
  expect(line(text, 'redis.drain.claim.many')[4]).toBe('10.0, 11.0 (gathered)')
})

test('against two peers there are two columns, two ratios and two marks', () => {
  const text = textOf(postgres.bench, run(postgres.specs), postgres.specs)
  expect(line(text, 'postgres.drain.claim').slice(3, 8)).toEqual(['30.0', '10.0', '11.0', '3.00× / 2.73×', '2.73–2.73'])
  expect(line(text, 'postgres.drain.claim')[8]).toBe('≥ 2× / ≥ 1.5× met')
  expect(line(text, 'postgres.bulk')[8]).toBe('≥ 5× / ≥ 5× MISSED')
})

test('the page has versions, settings, the date and what each row means', () => {
  const page = sectionOf(redis.bench, run(redis.specs), redis.specs, ['a chart'])
  for (const part of ['bullmq 6.7.0', '{"save":""}', '2026-01-02', '2 cores', 'a chart']) expect(page).toContain(part)
  for (const { title } of redis.specs) expect(page).toContain(title)
})

test('a rebuild is shown beside the time that the bare pushes would take', () => {
  expect(line(textOf(redis.bench, run(redis.specs), redis.specs), 'redis.rebuild').at(-1)).toBe('0.10')
  expect(line(textOf(postgres.bench, run(postgres.specs), postgres.specs), 'postgres.rebuild').at(-1)).toBe('0.20')
})
