// The command line is checked before anything is done: what is wrong is named, with a guess and exit code 2.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Command, Group } from '../../../src/cli/command.ts'
import type { Surroundings } from '../../../src/cli/config.ts'
import { check, find, run } from '../../../src/cli/run.ts'

async function regrow(...argv: string[]) {
  const text = { stdout: '', stderr: '' }
  const around: Surroundings = {
    cwd: '/nowhere',
    nodeVersion: '20.19.0',
    pid: 1,
    interactive: false,
    color: false,
    author: 'ann@host',
    store: undefined,
    screen: () => undefined,
    errorScreen: () => undefined,
    now: () => 0,
    write: (more) => {
      text.stdout += more
    },
    complain: (more) => {
      text.stderr += more
    },
    sleep: async () => {},
    onSignal: () => {},
    onRejection: () => {},
  }
  return { code: await run(argv, around), ...text }
}

test.each([
  [['statsu'], 'no command "regrow statsu"', 'Did you mean "regrow status"?'],
  [['quarantine', 'relaese', 'x'], 'no command "regrow quarantine relaese"', '"regrow quarantine release"?'],
  [['frobnicate'], 'no command "regrow frobnicate"', 'There are: init, migrate, work'],
  [['status', '--stroe', 'x'], 'has no flag --stroe', 'Did you mean --store?'],
  [['status', '-x'], 'has no flag -x', 'It has: --store, --app, --watch, --every, --check, --json'],
  [['status', '--no-json'], 'has no flag --no-json', 'It has: --store'],
  [['status', '--store'], '--store needs a value', 'Write --store <url|directory>'],
  [['status', '--store='], '--store needs a value', 'Write --store <url|directory>'],
  [['status', '--store', '--app', 'x'], '--store needs a value', 'Write --store <url|directory>'],
  [['status', '--json=yes'], '--json takes no value', 'Write --json alone'],
  [['status', 'now'], '"now" is one argument too many', 'takes none'],
  [['--store', 'x', 'status'], '--store stands before the command', 'Flags come after it'],
  [['enqueue', 'job'], '<item> is missing', 'regrow enqueue --help'],
  [['enqueue', 'job', 'a', 'b'], '"b" is one argument too many', 'takes <job> <item>'],
  [['enqueue', 'job', '-5'], 'no flag -5', 'regrow enqueue … -- -5'],
  [['work', '--store', 'x'], 'does not take --store', 'give --app <path>'],
  [['work', '--concurrency', '0'], '--concurrency is "0"', 'whole number from 1'],
  [['work', '--grace', 'soon'], '--grace is "soon"', "'250ms', '30s'"],
  [['work'], 'No app was named', '"regrow": { "app"'],
  [['status'], 'No store was named', 'REGROW_STORE or DATABASE_URL'],
  [['status', '--store', 'x', '--app', 'y'], 'Both --store and --app', 'Give one'],
  [['status', '--store', 'mysql://u:secret@h/d'], 'this is mysql://…', 'postgres://user@host/database'],
  [
    ['status', '--store', 'postgres:/app:secret@host/x'],
    'neither a postgres:// address',
    'postgres://user@host/database',
  ],
  [['status', '--store', 'app:secret@host/x'], 'neither a postgres:// address', 'postgres://user@host/database'],
  [['status', '--store', 'app:secret@host'], 'neither a postgres:// address', 'postgres://user@host/database'],
  [['migrate', '--store', 'app:se/secret@host'], 'neither a postgres:// address', 'postgres://user@host/database'],
  ...[
    'app/secret@host',
    'app/secret@host/x',
    'secret@host',
    'postgres//app:secret@host/x',
    'db.example.org/app?password=secret',
    'host=db user=app password=secret',
  ].flatMap((address): [string[], string, string][] => [
    [['status', '--store', address], 'neither a postgres:// address', 'postgres://user@host/database'],
    [['migrate', '--store', address], 'neither a postgres:// address', 'postgres://user@host/database'],
  ]),
  [['status', '--store', './lost@home'], 'no PGlite in lost@home', 'Is the path right?'],
  [['status', '--store', 'lost'], 'no PGlite in lost', 'Is the path right?'],
  [['sweep', '--app', 'lost.ts'], 'Which job?', '--all'],
  [['sweep', 'a', '--all'], 'Both "a" and --all', 'Give one'],
  [['sweep', 'a', '--app', 'lost.ts'], 'no file lost.ts', '--app <path>'],
  [['init', '--store', 'mysql'], '--store is "mysql"', 'one of: pglite, postgres'],
  [['pause', '--reason', 'x'], '<job> is missing', 'regrow pause --help'],
  [['pause', 'job'], '--reason is missing', 'Say why: --reason'],
  [['pause', 'job', '--reson', 'x'], 'has no flag --reson', 'Did you mean --reason?'],
  [['pause', 'job', '--reason', 'the', 'provider'], '"provider" is one argument too many', 'Quote what holds spaces'],
  [['resume', 'job', '--reason', 'x'], 'has no flag --reason', 'It has: --author'],
  [['quarantine', 'release', 'job'], 'Which keys?', '--all'],
  [['quarantine', 'release', 'job', 'k', '--all'], 'Both keys and --all', 'Give one'],
  [['quarantine', 'drop', 'job', '--all'], '--all drops every', '--yes'],
  [['quarantine', 'release', 'job', '--all'], '--all releases every', '--yes'],
  [['quarantine', 'release'], 'Which keys?', 'or a filter such as --error'],
  [['quarantine', 'release', '--all'], 'Which job?', '--job'],
  [['quarantine', 'release', 'job', 'k', '--error', 'x'], 'Both keys and a filter', 'Give one'],
  [['quarantine', 'release', 'job', '--since', '2030-01-01'], '--since is "2030-01-01"', 'date, time and zone'],
  [['quarantine', 'drop', '--error', 'x'], 'Which job?', '--job'],
  [['why', 'job'], '<key> is missing', 'regrow why --help'],
  [['why', 'job', 'key'], 'No app was named', '--app <path>'],
  [['quarantine', 'list', '--limit', '1.5'], '--limit is "1.5"', 'whole number'],
])('%j is refused', async (argv, found, cure) => {
  // A store that is named nowhere: what needs one later is refused for the earlier mistake.
  const store = argv[0] === 'quarantine' && argv[1] !== 'relaese' ? ['--store', 'postgres://h/d'] : []
  const { code, stdout, stderr } = await regrow(...argv, ...store)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(found)
  expect(stderr).toContain(`→ `)
  expect(stderr.split('→')[1]).toContain(cure)
  expect(stderr).not.toContain('secret')
  expect(stderr).not.toContain('    at ')
})

test('with --json a mistake is one document on standard output', async () => {
  const { code, stdout, stderr } = await regrow('statsu', '--json')
  expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({
    error: { code: 'usage', message: 'There is no command "regrow statsu"', hint: 'Did you mean "regrow status"?' },
  })
})

test('with --debug the stack follows', async () => {
  expect((await regrow('status', '--debug')).stderr).toContain('    at ')
})

test.each([
  '',
  'init',
  'migrate',
  'work',
  'enqueue',
  'status',
  'sweep',
  'why',
  'pause',
  'resume',
  'quarantine',
  'quarantine list',
  'quarantine errors',
  'quarantine show',
  'quarantine release',
  'quarantine drop',
])('"regrow %s --help" explains usage and flags, with arguments missing or not', async (path) => {
  const words = path.split(' ').filter(Boolean)
  const { code, stdout, stderr } = await regrow(...words, '--help')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain(`Usage\n  ${['regrow', ...words].join(' ')}`)
  expect(stdout).toContain('--json')
  if (words[0] !== 'quarantine' || words.length > 1) expect(stdout).toContain('Examples')
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(140)
})

test('no command at all shows the help and is a mistake; what stands after -- is no flag', async () => {
  expect(await regrow()).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Commands') })
  expect((await regrow('enqueue', 'job', '--', '--help')).stderr).toContain('No app was named')
})

/** Words as a shell makes them: quotes, no comments, nothing after a pipe. */
const words = (line: string) =>
  [...line.replace(/ [|>#] ?.*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? (plain as string),
  )

function allExamples(node: Command | Group): string[] {
  const own = node.examples.map(([line]) => line)
  return node.kind === 'command' ? own : [...own, ...Object.values(node.commands).flatMap(allExamples)]
}

test('every example of --help and of docs/cli.md is a command line that is accepted', () => {
  const docs = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
  const lines = [...docs.matchAll(/^npx (regrow .*)$/gm)].map(([, line]) => line as string)
  const examples = [...allExamples(find([]).node), ...lines]
  expect(examples.length).toBeGreaterThan(30)
  for (const line of examples) {
    const { node, rest } = find(words(line).slice(1))
    expect(node.kind, line).toBe('command')
    expect(() => check(node as Command, rest), line).not.toThrow()
  }
})

test('docs/cli.md has a section for every command', () => {
  const docs = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
  const names = (node: Command | Group): string[] =>
    node.kind === 'command' ? [node.name] : Object.values(node.commands).flatMap(names)
  for (const name of names(find([]).node)) expect(docs).toMatch(new RegExp(`^#{2,3} ${name}$`, 'm'))
})
