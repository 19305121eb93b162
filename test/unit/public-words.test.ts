// Words that users compare with: event names, codes, reasons, states, names of loops. All are spelt alike, so that they can be
// names of metrics, labels and cases of a switch: lower case, `_` between words, `.` behind the subject.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loopTexts } from '../../src/job/event-map.ts'
import { whys } from '../../src/operate/doctor/finding-texts.ts'
import { whyReasons } from '../../src/operate/why/reason.ts'

const root = join(import.meta.dirname, '../..')
const plain = /^[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)?$/

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  // The union in redis/script.ts names functions.
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.gen.ts') && !path.endsWith(join('redis', 'script.ts')))
  .map((path) => readFileSync(join(root, 'src', path), 'utf8'))

/** What the first group of `pattern` finds in any source. */
const found = (pattern: RegExp) => [
  ...new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, word]) => word as string))),
]

/** Members of unions of texts, without those that are names of methods or options. */
const unions = () =>
  sources
    .map((text) => text.replace(/\b(?:Pick|Omit)<(?:[^<>]|<[^<>]*>)*>/g, '').replace(/readonly \[\w+ in [^\]]*\]/g, ''))
    .flatMap((text) => [...text.matchAll(/'[^'\n]*'(?:\s*\|\s*'[^'\n]*')+/g)])
    .flatMap(([union]) => [...union.matchAll(/'([^']*)'/g)].map(([, word]) => word as string))

const eventMap = readFileSync(join(root, 'src/job/event-map.ts'), 'utf8')

test.each<[string, () => readonly string[], number]>([
  ['names of events', () => [...eventMap.matchAll(/^ {2}'([^']+)':/gm)].map(([, name]) => name as string), 30],
  ['names of loops', () => Object.keys(loopTexts), 15],
  ['reasons why a key does not run', () => whyReasons, 20],
  ['codes of findings', () => [...Object.keys(whys), ...found(/\bcode: '([a-z][^']*)'/g)], 60],
  ['codes of errors', () => found(/(?:RegrowError|super|fail|badOptions)\(\s*'([a-z][^'\s]*)',/g), 60],
  ['members of unions', unions, 100],
  ['actions in the log of operators', () => actions(), 8],
])('%s', (_, words, least) => {
  expect(words().length).toBeGreaterThanOrEqual(least)
  expect(words().filter((word) => !plain.test(word))).toEqual([])
})

function actions(): string[] {
  const folder = join(root, 'src/drivers/postgres/store')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.sql'))
    .map((path) => readFileSync(join(folder, path), 'utf8'))
    .flatMap((text) => text.split('insert into regrow.audit').slice(1))
    .flatMap((text) => /select ([^;]*?)json_build_object/s.exec(text)?.[1]?.match(/'[^']*'/g) ?? [])
    .map((quoted) => quoted.slice(1, -1))
}
