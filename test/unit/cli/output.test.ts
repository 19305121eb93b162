// What people see: nothing that moves the cursor, nothing that holds a secret.
import { expect, test } from 'vitest'
import type { Surroundings } from '../../../src/cli/config.ts'
import { failureOf } from '../../../src/cli/failure.ts'
import { brief, fittedTable, output, relative, table, visible } from '../../../src/cli/output.ts'
import { RegrowError } from '../../../src/index.ts'

const plain = { dim: (text: string) => text } as Parameters<typeof table>[0]

test('control characters of keys and errors are shown, not obeyed', () => {
  expect(visible('a\u001b[2Jb\r\n\u0007ä')).toBe('a\\x1b[2Jb\\x0d\\x0a\\x07ä')
  expect(brief('first\nsecond')).toBe('first')
  expect(brief('x'.repeat(100), 10)).toBe(`${'x'.repeat(9)}…`)
  expect(brief(null)).toBe('')
})

test.each([false, true])(
  'what a command prints is escaped once more as it leaves, with colours or without (%s)',
  (color) => {
    const written: string[] = []
    const write = (text: string) => void written.push(text)
    const out = output({ color, write, complain: write } as unknown as Surroundings, false)
    out.result({}, () => `${out.color.red('a')}\nb\u001b[2J\u202e`)
    out.note('c\u001b[2J password=x')
    expect(written).toEqual([`${out.color.red('a')}\nb\\x1b[2J\\u202e\n`, 'c\\x1b[2J password=[redacted]\n'])
  },
)

test('columns of numbers stand to the right, texts to the left', () => {
  expect(
    table(
      plain,
      ['job', 'seen'],
      [
        ['a', '5'],
        ['long.name', '1000'],
      ],
    ),
  ).toBe(['job        seen', 'a             5', 'long.name  1000'].join('\n'))
})

test('times are told from the clock of the store', () => {
  const at = new Date('2030-01-01T00:00:00Z')
  expect(relative(new Date('2029-12-31T23:58:30Z'), at)).toBe('1m 30s ago')
  expect(relative(new Date('2030-01-01T00:00:05Z'), at)).toBe('in 5s')
  expect(relative(null, at)).toBe('never')
})

test('an error is told without secrets, whoever threw it', () => {
  const hinted = new RegrowError('x', 'cannot reach postgres://u:secret@h/d', 'set token=abc')
  expect(failureOf(hinted)).toEqual({
    code: 'x',
    message: 'cannot reach postgres://u:[redacted]@h/d',
    hint: 'set token=[redacted]',
  })
  const foreign = Object.assign(new Error('m\n  → do'), { name: 'RegrowError', code: 'y', hint: 'do' })
  expect(failureOf(foreign)).toEqual({ code: 'y', message: 'm', hint: 'do' })
  expect(failureOf('postgres://u:secret@h').message).toBe('postgres://u:[redacted]@h')
  const refused = Object.assign(new AggregateError([new Error('connect A'), new Error('connect B')], ''), {
    code: 'ECONNREFUSED',
  })
  expect(failureOf(refused)).toMatchObject({
    message: 'connect A; connect B',
    hint: expect.stringContaining('Nothing listens'),
  })
})

test('a table leaves out columns that do not fit, the least useful first, and those that say nothing', () => {
  const columns = [
    { heading: 'job', cells: ['a.long.name', 'b'] },
    { heading: 'seen', cells: ['10', '2000'] },
    { heading: 'oldest', cells: ['3m', '–'], rank: 1 },
    { heading: 'intents', cells: ['7', '8'], rank: 2 },
    { heading: 'stray', cells: ['–', '–'], rank: 1 },
  ]
  const headings = (width: number) => fittedTable(plain, columns, width).split('\n')[0]?.split(/ +/)
  expect(headings(100)).toEqual(['job', 'seen', 'oldest', 'intents'])
  expect(headings(34)).toEqual(['job', 'seen', 'oldest', 'intents'])
  expect(headings(33)).toEqual(['job', 'seen', 'oldest'])
  expect(headings(24)).toEqual(['job', 'seen'])
  expect(headings(5)).toEqual(['job', 'seen'])
  expect(fittedTable(plain, columns, 24)).toBe(
    ['job          seen', 'a.long.name    10', 'b            2000'].join('\n'),
  )
})

test('a table has as many rows as there are', () => {
  const rows = Array.from({ length: 300_000 }, (_, n) => [String(n), 'x'])
  const lines = table(plain, ['n', 'what'], rows).split('\n')
  expect([lines.length, lines.at(-1)]).toEqual([300_001, '299999  x'])
})
