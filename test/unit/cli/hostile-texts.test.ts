// Whatever jobs, schedules, keys, errors, hosts and people are called: what the command prints acts on no terminal, begins no line
// of its own and forges no colour, in every command, and its JSON stays the same JSON.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operatorKey } from '../../../src/app/operator.ts'
import type { Surroundings } from '../../../src/cli/config.ts'
import { jsonText } from '../../../src/cli/output.ts'
import { run } from '../../../src/cli/run.ts'
import { RegrowError } from '../../../src/index.ts'
import type {
  DoctorReport,
  ErrorGroup,
  Health,
  QuarantinedDetail,
  ScheduleInfo,
  SlotInfo,
  SweepReport,
  Why,
} from '../../../src/operate/index.ts'

const at = new Date('2030-01-01T00:00:00Z')
const hostile =
  'a\u001b[31mb\u001b[2J\u001b]0;t\u0007\r\nc\u202ed\u2066e\u200f\u2028\u0085\u009b31m\u{e0041}\ufeff\u0000z'
const acting = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of a terminal.
const colours = /\u001b\[\d{1,2}m/g

/** Everything that an app answers to a command, with `text` wherever a text may come from outside. */
function answers(text: string) {
  const cost = { rows: 1, rowsRead: 2, blocks: 3, ms: 4 }
  const health = {
    ...{ healthy: false, at, queue: { name: text, shared: true, down: true } },
    jobs: [
      {
        ...{ job: text, running: 0, retrying: 0, quarantined: 1, intents: 1, workers: 1, noProgress: 1, unowned: null },
        ...{ pause: null, declared: true, hints: null },
        drift: { pendingWithoutHint: { pushed: 0, left: 0 }, hintsWithoutRow: 1, claimsWithoutOwner: 1 },
        sweep: {
          ...{
            nextAt: at,
            sweeping: false,
            lastAttemptAt: at,
            lastSuccessAt: at,
            lastError: text,
            everyMs: 1,
            errors: 1,
          },
          ...{ seen: 5, pushed: 0, held: 0, tookMs: 3, dropped: 1, unusable: null, pending: null, oldestAt: null },
          healing: false,
        },
      },
    ],
    workers: [
      { id: text, host: text, pid: 1, jobs: [text], startedAt: at, beatAt: at, live: false, running: 3, stuck: 0 },
    ],
    findings: [
      { level: 'bad', code: 'no_handler', job: text, message: text, hint: text },
      { level: 'warn', code: 'no_handler', job: text, message: text, hint: text },
    ],
    heals: [{ epoch: 2, at, how: text, noticedBy: text, pushed: 1, endedAt: null, jobsLeft: 1 }],
  } as unknown as Health
  const finding = {
    level: 'bad',
    code: 'index_missing',
    job: text,
    message: `x ${text}`,
    why: text,
    hint: text,
  } as const
  const doctor = {
    ...{ healthy: false, stopped: false, findings: [{ ...finding, fix: null }] },
    jobs: [{ job: text, page: cost, nextPage: cost, lastPage: cost, check: cost, indexes: [] }],
  } as unknown as DoctorReport
  const why = {
    ...{ job: text, key: text, reason: 'backed_off', sentence: text, next: text, nextAt: new Date('2030-01-02') },
    also: [{ reason: 'paused', sentence: text }],
    commands: [{ line: text, does: 'looks' }],
    facts: {
      ...{ at, queue: { name: text, down: false }, dueHints: 1, hint: 'unknown' },
      pending: { state: 'pending', version: text, waitMs: 0 },
      intent: { createdAt: at, runAt: null },
      ledger: {
        ...{ state: 'retrying', failures: 1, crashes: 1, retryAt: at, error: text },
        claim: { worker: { host: text, pid: 1 } },
      },
      ...{ pause: { since: at }, workers: { able: 0, live: 1 } },
      sweep: { sweeping: false, nextAt: at, lastSuccessAt: at, errors: 1 },
    },
  } as unknown as Why
  const quarantined: QuarantinedDetail = {
    ...{ job: text, key: text, version: text, failures: 1, crashes: 0, error: text, since: at },
    intent: { input: text, createdAt: at, runAt: null, uniqueKey: text },
  }
  const group: ErrorGroup = { job: text, error: text, count: 2, firstAt: at, lastAt: at, key: text }
  const schedule = {
    ...{ name: text, job: `${text}2`, cron: text, everyMs: null, tz: text, missed: text, overlap: text, jitterMs: 5 },
    ...{ startAt: at, endAt: at, version: 1, declared: true, lastSlot: at, nextSlot: at, running: false, live: true },
    ...{ lastAuditAt: at, paused: { reason: text, author: text, since: at }, ended: null },
  } as unknown as ScheduleInfo
  const slots = [
    { at, state: 'skipped', reason: text, begunAt: at, endedAt: at, through: at, count: 2 },
  ] as unknown as SlotInfo[]
  const swept = {
    ...{ job: text, dryRun: true, seen: 1, eligible: 1, held: 1, unusable: 1, hinted: null, pushed: 1, keys: [text] },
    ...{ heldBy: { running: 1, backedOff: 1, quarantined: 1, later: 1 }, paused: true, finished: false, stopped: true },
    ...{ error: text, tookMs: 1 },
  } as SweepReport
  return { health, doctor, why, quarantined, group, schedule, slots, swept }
}

/** An app, by shape, that answers these. */
function appOf(text: string) {
  const { health, doctor, why, quarantined, group, schedule, slots, swept } = answers(text)
  const counts = [{ job: text, count: 2_000 }]
  const app = {
    job: () => {},
    status: async () => health,
    health: async () => health,
    doctor: async () => doctor,
    why: async () => why,
    queue: async () => ({ name: text, shared: false }),
    jobs: () => [
      {
        name: 'order.ship',
        kind: 'pending',
        key: 'text',
        handled: true,
        enqueue: async () => ({ key: text, status: 'added' }),
      },
    ],
    on: () => {},
    sweep: async () => [swept],
    migrate: async () => ({ from: 1, to: 2 }),
    pause: async () => ({ job: text, reason: text, author: text, until: null }),
    resume: async () => true,
    forget: async () => ({ job: text, remembered: 1, quarantined: 1, intents: 1, paused: true, hints: null }),
    quarantine: {
      list: async () => ({ keys: [quarantined], next: text }),
      errors: async () => [group],
      show: async (job: string) => (job === 'none' ? null : quarantined),
      count: async () => counts,
      release: async () => ({ count: 2_000, released: [text], missing: [text] }),
    },
    schedules: {
      list: async () => ({ schedules: [schedule], next: text }),
      show: async () => ({ ...schedule, slots }),
      next: async () => [at],
      pause: async () => {},
      resume: async () => {},
      run: async () => ({ at, key: text }),
      end: async () => {
        throw new RegrowError('broken', text, text, new Error(text))
      },
    },
    work: () => {
      throw Object.assign(new Error(text), { code: text })
    },
    close: async () => {},
  }
  return { ...app, [operatorKey]: app }
}

const commands = (text: string): string[][] => [
  ['status'],
  ['status', '--check'],
  ['status', '--watch'],
  ['doctor'],
  ['doctor', '--fix'],
  ['why', text, text],
  ['sweep', '--all', '--dry-run'],
  ['enqueue', 'order.ship', text],
  ['enqueue', text, text],
  ['migrate'],
  ['pause', text, '--reason', text],
  ['resume', text],
  ['forget', text],
  ['quarantine', 'list'],
  ['quarantine', 'errors'],
  ['quarantine', 'show', text, text],
  ['quarantine', 'show', 'none', text],
  ['quarantine', 'release', text, text],
  ['quarantine', 'release', text, '--all', '--yes'],
  ['quarantine', 'release', text, '--all'],
  ['schedules', 'list'],
  ['schedules', 'show', text],
  ['schedules', 'next', text],
  ['schedules', 'pause', text, '--reason', text],
  ['schedules', 'resume', text],
  ['schedules', 'run', text],
  ['schedules', 'end', text],
  ['schedules', 'end', text, '--yes'],
  ['work', '--debug'],
  ['work', text],
  [text],
]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'regrow-texts-'))
  for (const name of ['plain', 'hostile'])
    writeFileSync(join(folder, `${name}.mjs`), `export const app = globalThis.regrowTestApps.${name}`)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What one command writes, to both streams. */
async function written(argv: string[], app: 'plain' | 'hostile', { color = false, screen = false } = {}) {
  Object.assign(globalThis, { regrowTestApps: { plain: appOf('plain'), hostile: appOf(hostile) } })
  const told = { stdout: '', stderr: '' }
  let looked = 0
  const around: Surroundings = {
    ...{ cwd: folder, nodeVersion: '20.19.0', pid: 1, interactive: false, color, author: 'ann@host', store: undefined },
    screen: () => (screen ? { columns: 200, rows: 60 } : undefined),
    errorScreen: () => undefined,
    now: () => looked++,
    write: (text) => {
      told.stdout += text
    },
    complain: (text) => {
      told.stderr += text
    },
    // Never over: `--watch` looks once, then the signal comes.
    sleep: () => new Promise(() => {}),
    onSignal: (_, listener) => {
      if (argv.includes('--watch')) setTimeout(() => listener('SIGINT'), 5)
    },
    onRejection: () => {},
  }
  await run([...argv.slice(0, 1), ...argv.slice(1), '--app', `${app}.mjs`], around)
  return told
}

const name = (argv: string[]) => argv.map((each) => (each === hostile ? '…' : each)).join(' ')
const lines = (text: string) => text.split('\n').length

for (const argv of commands(hostile))
  test(`nothing acts in what \`regrow ${name(argv)}\` prints`, async () => {
    const plainArgv = argv.map((each) => (each === hostile ? 'plain' : each))
    const [told, expected] = [await written(argv, 'hostile'), await written(plainArgv, 'plain')]
    const watches = argv.includes('--watch')
    for (const stream of ['stdout', 'stderr'] as const) {
      expect(told[stream]).not.toMatch(acting)
      // Errors and stacks may have lines of their own; all else has the lines that it always has.
      if (stream === 'stdout' && !watches && !argv.includes('show') && argv[0] !== 'doctor')
        expect(lines(told[stream])).toBe(lines(expected[stream]))
    }
    const colored = await written(argv, 'hostile', { color: true })
    const coloredPlain = await written(plainArgv, 'plain', { color: true })
    for (const stream of ['stdout', 'stderr'] as const) {
      expect(colored[stream].replace(colours, '')).not.toMatch(acting)
      if (!watches && argv[0] !== 'doctor')
        // No colour that a text has brought along.
        expect(colored[stream].match(colours)?.length).toBe(coloredPlain[stream].match(colours)?.length)
    }
  })

test.each(commands(hostile).map((argv) => [name(argv), argv] as const))(
  'the JSON of `regrow %s` is JSON, without a character that acts',
  async (_, argv) => {
    const { stdout } = await written([...argv, '--json'], 'hostile')
    expect(stdout).not.toMatch(acting)
    for (const document of argv.includes('--watch') ? stdout.split('\n').filter(Boolean) : [stdout])
      JSON.parse(document)
  },
)

test('what JSON is read back as is what was written', () => {
  const document = { [hostile]: [hostile, 'größer 🙂 日本語', '\ud800'], n: 1 }
  for (const indent of [0, 2]) {
    expect(jsonText(document, indent)).not.toMatch(acting)
    expect(JSON.parse(jsonText(document, indent))).toEqual(document)
  }
})

test('on a terminal --watch moves the cursor, and nothing that it shows does', async () => {
  const { stdout } = await written(['status', '--watch'], 'hostile', { screen: true })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor.
  expect(stdout.replace(/\u001b\[[HKJ]/g, '')).not.toMatch(acting)
  expect(stdout).toContain('\\x1b[31m')
})
