// What the texts say of the project is so: links lead somewhere, commands exist, and every event, error code and invariant
// of the sources is explained.
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse, projectTexts, root, type Text } from './markdown.ts'

const texts = projectTexts()
const textOf = (file: string): Text => {
  const found = texts.find((text) => text.file === file)
  if (!found) throw new Error(`${file} is missing`)
  return found
}
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((path) => `src/${path.replaceAll('\\', '/')}`)
  .filter((path) => /\.(ts|sql|lua)$/.test(path) && !path.endsWith('.gen.ts'))
const core = sources.filter((path) => !/^src\/(cli|testing)\//.test(path))

test('README has at most 250 lines', () => {
  expect(textOf('README.md').source.trimEnd().split('\n').length).toBeLessThanOrEqual(250)
})

/** What is wrong with the links of a text: files that are not there, anchors that no heading has. */
function deadLinks({ file, links, anchors }: Text): string[] {
  return links.flatMap(({ target, line }) => {
    if (/^[a-z]+:/.test(target)) return []
    const [path = '', anchor] = target.split('#')
    const other = path === '' ? file : normalize(join(dirname(file), path))
    if (path !== '' && !existsSync(join(root, other))) return [`${file}:${line}: there is no ${other}`]
    if (anchor === undefined || !other.endsWith('.md')) return []
    const known = path === '' ? anchors : parse(other, read(other)).anchors
    return known.has(anchor) ? [] : [`${file}:${line}: ${other} has no heading #${anchor}`]
  })
}

describe('links', () => {
  test('lead to files and headings that are there', () => {
    expect(texts.reduce((sum, { links }) => sum + links.length, 0)).toBeGreaterThan(20)
    expect(texts.flatMap(deadLinks)).toEqual([])
  })

  test('a missing file and a missing heading are noticed', () => {
    const text = parse(
      'docs/x.md',
      '# Some `code` here\n[a](#some-code-here) [b](#none) [c](none.md) [d](../README.md#none)\n',
    )
    expect(deadLinks(text)).toEqual([
      'docs/x.md:2: docs/x.md has no heading #none',
      'docs/x.md:2: there is no docs/none.md',
      'docs/x.md:2: README.md has no heading #none',
    ])
  })
})

describe('commands', () => {
  const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts)
  let commands: string[]

  /** The commands that a --help lists. */
  async function listed(...path: string[]): Promise<string[]> {
    const { stdout } = await promisify(execFile)(process.execPath, ['dist/cli/main.js', ...path, '--help'], {
      cwd: root,
    })
    const [, block = ''] = /^Commands\n((?: {2}\S.*\n?)+)/m.exec(stdout) ?? []
    const names = [...block.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => [...path, name].join(' '))
    return (await Promise.all(names.map(async (name) => [name, ...(await listed(...name.split(' ')))]))).flat()
  }

  beforeAll(async () => {
    await promisify(execFile)(process.execPath, ['scripts/setup.mjs'], { cwd: root })
    commands = await listed()
  }, 60_000)

  /** What is wrong with a command line; undefined when there is nothing, or it is none of ours. */
  function mistake(line: string): string | undefined {
    const [, npm] = /^npm (?:run )?([a-z:-]+)/.exec(line) ?? []
    if (/^npm run /.test(line) && !scripts.includes(npm as string)) return `package.json has no script "${npm}"`
    if (/^npm (start|test)\b/.test(line) && !scripts.includes(npm as string)) return `there is no npm ${npm}`
    const [, chaos] = /^npm run chaos -- ([a-z]+)/.exec(line) ?? []
    if (chaos && !existsSync(join(root, 'test/chaos', chaos, 'main.ts'))) return `there is no npm run chaos -- ${chaos}`
    const [, script] = /^node (?:--import \S+ )?((?:scripts|examples|bench)\/\S+)/.exec(line) ?? []
    if (script && !existsSync(join(root, script))) return `there is no ${script}`
    const [, first, second] = /^(?:npx )?regrow ([a-z]+)(?: ([a-z]+))?/.exec(line) ?? []
    if (first === undefined) return undefined
    if (!commands.includes(first)) return `there is no command "regrow ${first}"`
    const group = commands.some((each) => each.startsWith(`${first} `))
    return group && second && !commands.includes(`${first} ${second}`)
      ? `there is no "regrow ${first} ${second}"`
      : undefined
  }

  test('that the texts show exist', () => {
    const lines = texts.flatMap(({ file, blocks, spans }) => [
      ...blocks
        .filter(({ info }) => info === 'sh')
        .flatMap(({ code, line }) =>
          code.split('\n').map((text, i) => ({ at: `${file}:${line + i}`, text: text.trim() })),
        ),
      ...spans.map(({ code, line }) => ({ at: `${file}:${line}`, text: code })),
    ])
    const wrong = lines.flatMap(({ at, text }) =>
      text.split('&&').flatMap((part) => {
        const what = mistake(part.trim())
        return what === undefined ? [] : [`${at}: ${what}`]
      }),
    )
    expect(commands).toContain('migrate')
    expect(wrong).toEqual([])
  })

  test('that do not exist are noticed', () => {
    expect(mistake('npx regrow fly --far')).toBe('there is no command "regrow fly"')
    expect(mistake('regrow quarantine fly')).toBe('there is no "regrow quarantine fly"')
    expect(mistake('npm run fly')).toBe('package.json has no script "fly"')
    expect(mistake('npm run chaos -- fly --far')).toBe('there is no npm run chaos -- fly')
    expect(mistake('node scripts/fly.mjs')).toBe('there is no scripts/fly.mjs')
    expect(mistake('npm run build')).toBeUndefined()
    expect(mistake('regrow migrate --print')).toBeUndefined()
  })
})

describe('every one of the sources is explained:', () => {
  const spansOf = (file: string) => new Set(textOf(file).spans.map(({ code }) => code))

  test('events, in docs/events.md', () => {
    const events = [...read('src/job/event-map.ts').matchAll(/^ {2}'([a-z]+\.[a-zA-Z]+)':/gm)].map(
      ([, name]) => name as string,
    )
    expect(events.length).toBeGreaterThan(10)
    expect(events.filter((name) => !spansOf('docs/events.md').has(name))).toEqual([])
    const told = [...spansOf('docs/events.md')].filter((code) =>
      /^(job|hint|queue|sweep|pause|heartbeat|ledger|slot|schedules?|worker|loop)\.[a-zA-Z]+$/.test(code),
    )
    expect(told.filter((name) => !events.includes(name))).toEqual([])
  })

  test('findings, in docs/health.md', () => {
    const [, union = ''] = /type FindingCode =([^/]+)/.exec(read('src/operate/findings.ts')) ?? []
    const codes = [...union.matchAll(/'([a-z_]+)'/g)].map(([, code]) => code as string)
    expect(codes.length).toBeGreaterThan(10)
    expect(codes.filter((code) => !spansOf('docs/health.md').has(code))).toEqual([])
    const told = [...spansOf('docs/health.md')].filter((code) => /^[a-z]+_[a-z]+$/.test(code) && code !== 'run_at')
    expect(told.filter((code) => !codes.includes(code))).toEqual([])
  })

  test('what the doctor finds, in the table of docs/doctor.md, with no other codes in it', () => {
    const [, own = ''] = /const own = \{(.+?)\n\} as const/s.exec(read('src/operate/doctor/finding-texts.ts')) ?? []
    const codes = [...own.matchAll(/^ {2}([a-z_]+):/gm)].map(([, code]) => code as string)
    const told = [...read('docs/doctor.md').matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code as string)
    expect(codes.length).toBeGreaterThan(20)
    expect(told.sort()).toEqual(codes.sort())
    // Each of them is found somewhere.
    const finders = sources.filter((path) => /^src\/operate\/doctor\/(?!why)/.test(path)).map(read)
    expect(codes.filter((code) => !finders.some((text) => text.includes(`'${code}'`)))).toEqual([])
  })

  test('what coverage finds, in the table of docs/coverage.md, with no other codes in it', () => {
    const found = sources
      .filter((path) => path.startsWith('src/operate/coverage/'))
      .flatMap((path) => [...read(path).matchAll(/code: '([a-z_]+)'/g)].map(([, code]) => code as string))
    const rows = read('docs/coverage.md').match(/^\| `[a-z]+_[a-z_]+` .*$/gm) ?? []
    expect(found.length).toBeGreaterThan(10)
    expect(rows.map((row) => row.split('`')[1]).sort()).toEqual([...new Set(found)].sort())
  })

  test('error codes, in docs/errors.md', () => {
    const found = (path: string, code: RegExp) => [...read(path).matchAll(code)].map(([, word]) => word as string)
    const codes = [
      ...core.flatMap((path) => found(path, /(?:RegrowError|super)\(\s*'([a-z_]+)'/g)),
      // Those that every driver of a queue uses are constants of the port.
      ...found('src/queue/queue.ts', /^export const \w+ = '([a-z_]+)'/gm),
    ]
    expect(codes.length).toBeGreaterThan(20)
    expect([...new Set(codes)].filter((code) => !spansOf('docs/errors.md').has(code))).toEqual([])
    const firstCells = (read('docs/errors.md').match(/^\| `.*?(?= \|)/gm) ?? []).join(' ')
    const told = [...firstCells.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, code]) => code as string)
    expect(told.length).toBeGreaterThan(20)
    expect(told.filter((code) => !codes.includes(code))).toEqual([])
  })

  describe('invariants, in docs/invariants.md:', () => {
    const label = /\b[SLMF]\d{1,2}\b/g
    const rows = read('docs/invariants.md').match(/^\| [SLMF]\d{1,2} .*$/gm) ?? []
    const nameOf = (row: string) => (row.match(label) as string[])[0] as string
    const later = rows.filter((row) => row.includes('| Not yet')).map(nameOf)
    const explained = rows.map(nameOf).filter((name) => !later.includes(name))
    const named = new Set(sources.flatMap((path) => read(path).match(label) ?? []))
    /** The simulator names what it looks at in quotes. */
    const simulated = new Set(
      readdirSync(join(root, 'test/sim'), { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts'))
        .flatMap((path) => [...read(join('test/sim', path)).matchAll(/'([SL]\d{1,2})'/g)])
        .map(([, name]) => name as string),
    )

    test('all of S1–S17 and L1–L10 have a row, each one', () => {
      const all = [17, 10].flatMap((most, i) => Array.from({ length: most }, (_, n) => `${'SL'[i]}${n + 1}`))
      expect(rows.map(nameOf).filter((name) => /^[SL]/.test(name))).toEqual(all)
      expect(later).toEqual([])
    })

    test('each is named by the code that upholds it, and what code names is there', () => {
      const silent = rows.filter((row) => {
        const files = [...(row.split(' | ')[2] ?? '').matchAll(/`(src\/[^`]+)`/g)].map(([, path]) => path as string)
        return !later.includes(nameOf(row)) && !files.some((path) => read(path).match(label)?.includes(nameOf(row)))
      })
      expect(silent).toEqual([])
      expect([...named].filter((name) => !explained.includes(name))).toEqual([])
    })

    test('the simulator looks at each of S and L, and at no other', () => {
      const checked = explained.filter((name) => /^[SL]/.test(name))
      expect(checked.filter((name) => !simulated.has(name))).toEqual([])
      expect([...simulated].filter((name) => !checked.includes(name))).toEqual([])
    })
  })

  test.each(['ARCHITECTURE.md', 'docs/invariants.md'])('files that %s names are there', (file) => {
    const paths = textOf(file)
      .spans.map(({ code }) => code)
      .filter((code) => /^(src|test|scripts|tools|bench|examples)\/[^*<]*$/.test(code))
    expect(paths.length).toBeGreaterThan(30)
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
    expect(paths.filter((path) => path.endsWith('/') !== statSync(join(root, path)).isDirectory())).toEqual([])
  })

  test('decisions, in docs/decisions/README.md', () => {
    const files = readdirSync(join(root, 'docs', 'decisions')).filter((name) => name !== 'README.md')
    const linked = textOf('docs/decisions/README.md').links.map(({ target }) => target)
    expect(files.length).toBeGreaterThan(5)
    expect(files.sort()).toEqual(linked.filter((target) => /^\d{4}-/.test(target)).sort())
  })
})
