// What `npm run bench -- redis` prints: the object for programs, the table for people, the page that is checked in.
import { expect, test } from 'vitest'
import { rowOf } from '../../../bench/redis/figures.ts'
import { jsonOf, pageOf, type Run, textOf } from '../../../bench/redis/report.ts'
import { scenes } from '../../../bench/redis/rows.ts'

const specs = scenes(true).flat()

function run(invalid: string[] = []): Run {
  return {
    rows: specs.map((spec) => {
      const peers = Object.fromEntries(Object.keys(spec.peers).map((name, n) => [name, 10 + n]))
      return rowOf(spec, [{ regrow: 30, peers }])
    }),
    invalid,
    limits: { redisPush: 1_000_000, postgresCheck: 200_000 },
    versions: { regrow: '0.1.0', bullmq: '6.7.0' },
    settings: { redis: { save: '' } },
    machine: '2 cores',
    pairs: 1,
    quick: true,
    busyMax: 0.05,
    at: '2026-01-02T03:04:05.000Z',
  }
}

test('the rows are those that were agreed on, each once', () => {
  expect(specs.map(({ id }) => id).sort()).toEqual(
    [
      'redis.bulk',
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
})

test('a quick run has the same rows and marks with fewer jobs', () => {
  const whole = scenes(false).flat()
  expect(specs.map(({ id, mark }) => [id, mark])).toEqual(whole.map(({ id, mark }) => [id, mark]))
  for (const [at, { regrow }] of specs.entries())
    expect(regrow.task.jobs).toBeLessThan(whole[at]?.regrow.task.jobs as number)
})

test('the JSON is one object whose rows have id, unit, regrow, peers and ratio', () => {
  const { rows, invalid } = JSON.parse(jsonOf(run()))
  expect(invalid).toBeUndefined()
  expect(rows).toHaveLength(11)
  for (const row of rows) {
    expect(row).toMatchObject({ id: expect.any(String), unit: expect.any(String), regrow: 30 })
    const values = Object.values<number>(row.peers)
    const better = specs.find(({ id }) => id === row.id)?.better === 'higher' ? Math.max : Math.min
    expect(row.ratio).toBe(values.length === 0 ? null : 30 / better(...values))
  }
})

test('an invalid run says so in JSON, in the text and on the page', () => {
  const bad = run(['BullMQ bulk: 1 jobs/s'])
  expect(JSON.parse(jsonOf(bad)).invalid).toEqual(['BullMQ bulk: 1 jobs/s'])
  for (const text of [textOf(bad, specs), pageOf(bad, specs)]) {
    expect(text).toContain('INVALID')
    expect(text).toContain('BullMQ bulk: 1 jobs/s')
  }
  expect(textOf(run(), specs)).not.toContain('INVALID')
})

test('every drain and pick-up shows its guard', () => {
  const lines = textOf(run(), specs).split('\n')
  const guardOf = (id: string) => lines.find((line) => line.startsWith(`${id} `))?.split(/ {2,}/)[1]
  expect(guardOf('redis.drain.none')).toBe('none')
  expect(guardOf('redis.drain.claim.many')).toBe('claim')
  expect(guardOf('redis.drain.claim')).toBe('claim')
  expect(guardOf('redis.pickup.none')).toBe('none')
  expect(guardOf('redis.pickup.claim')).toBe('claim')
})

test('the page has versions, settings, the date and what each row means', () => {
  const page = pageOf(run(), specs)
  for (const part of ['bullmq 6.7.0', '{"save":""}', '2026-01-02', '2 cores']) expect(page).toContain(part)
  for (const { title } of specs) expect(page).toContain(title)
})

test('a rebuild is shown beside the time that the bare pushes would take', () => {
  const line = textOf(run(), specs)
    .split('\n')
    .find((each) => each.startsWith('redis.rebuild'))
  expect(line?.split(/ {2,}/).at(-1)).toBe('0.10')
})
