// Two indexes of one report never have the same name, unless they are the same.
import { expect, test } from 'vitest'
import { distinct } from '../../../../src/operate/doctor/distinct.ts'
import type { DoctorFinding } from '../../../../src/operate/doctor/finding.ts'

const finding = (fix: string | null): DoctorFinding => ({
  level: 'warn',
  code: 'index_missing',
  job: 'a',
  message: 'it reads much',
  why: 'because',
  hint: `With this index it is quicker: ${fix}`,
  fix,
})
const fixes = (...given: (string | null)[]) => distinct(given.map(finding)).map(({ fix }) => fix)

test('the same name for another index gets a number, in the hint as well', () => {
  const one = `create index concurrently big_id_where_st_x_y on public.big (id) where st = 'x-y';`
  const other = `create index concurrently big_id_where_st_x_y on public.big (id) where st = 'x_y';`
  const third = `create index big_id_where_st_x_y on public.big (id) where st = 'x y';`
  const renamed = distinct([one, other, third].map(finding))
  expect(renamed.map(({ fix }) => fix)).toEqual([
    one,
    other.replace('big_id_where_st_x_y', 'big_id_where_st_x_y_2'),
    third.replace('big_id_where_st_x_y', 'big_id_where_st_x_y_3'),
  ])
  expect(renamed[1]?.hint).toContain('big_id_where_st_x_y_2 on')
})

test('the same index for two jobs stays one statement; another schema has names of its own', () => {
  const same = `create index concurrently "a b" on public.t (id);`
  const elsewhere = `create index concurrently "a b" on other.t (id);`
  expect(fixes(same, null, same, elsewhere)).toEqual([same, null, same, elsewhere])
  expect(fixes(same, `create index concurrently "a b" on public.t (key);`)).toEqual([
    same,
    `create index concurrently "a b_2" on public.t (key);`,
  ])
})
