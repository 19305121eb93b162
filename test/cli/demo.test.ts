// The demo as its readers run it: a process of its own, without a terminal, on one, and on a real Postgres. And the
// other way round: a demo that loses something, or does something twice, says so.

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import pg from 'pg'
import { regrow } from 'regrow'
import { operate } from 'regrow/operate'
import { postgres } from 'regrow/postgres'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase } from '../services/database.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const start = ['scripts/start.mjs']
const ending = /^rows (\d+), done (\d+), retried (\d+), quarantined (\d+), wipes (\d+), kills (\d+), lost (\d+)$/m

/** A program whose output can be waited for. */
class Program {
  readonly child: ChildProcess
  readonly exit: Promise<number | null>
  output = ''
  #heard: () => void = () => {}

  constructor(command: string, args: readonly string[]) {
    this.child = spawn(command, args, { cwd: root, stdio: 'pipe' })
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text.replaceAll('\r', '')
        this.#heard()
      })
    this.exit = new Promise((resolve) => this.child.once('close', resolve))
  }

  async until(pattern: RegExp): Promise<void> {
    let over = false
    void this.exit.then(() => {
      over = true
      this.#heard()
    })
    while (!pattern.test(this.output)) {
      if (over) throw new Error(`It ended without ${pattern}:\n${this.output}`)
      await new Promise<void>((resolve) => {
        this.#heard = resolve
      })
    }
  }

  /** The numbers of the last line, by name. */
  async counts(): Promise<Record<string, number>> {
    await this.exit
    const line = ending.exec(this.output)?.[0] ?? ''
    return Object.fromEntries(line.split(', ').map((pair) => [pair.split(' ')[0], Number(pair.split(' ')[1])]))
  }
}

const programs: Program[] = []

function run(command: string, ...args: string[]): Program {
  const program = new Program(command, args)
  programs.push(program)
  return program
}

beforeAll(() => promisify(execFile)(process.execPath, ['scripts/setup.mjs'], { cwd: root }))
afterEach(async () => {
  for (const { child, exit } of programs.splice(0)) {
    child.kill('SIGTERM')
    await exit
  }
})

describe('on PGlite', () => {
  test('without a terminal it wipes and kills by itself, and loses nothing', async () => {
    const began = performance.now()
    // As a shell may have it: the demo brings its tables up to date all the same.
    const demo = run('env', 'NODE_ENV=production', process.execPath, ...start, '--seconds', '5')
    await demo.until(/\n/)
    expect(performance.now() - began).toBeLessThan(2_000)
    const counts = await demo.counts()
    expect(await demo.exit, demo.output).toBe(0)
    expect(counts).toMatchObject({ quarantined: 1, wipes: 1, kills: 1, lost: 0 })
    expect(counts.done).toBe((counts.rows ?? 0) - 1)
    expect(counts.rows).toBeGreaterThan(50)
    expect(demo.output).toMatch(/WIPED the queue: [1-9]\d* hints destroyed/)
    expect(demo.output).toMatch(/first regrown start \d+\.\d s after the wipe/)
    const running = Number(/KILLED worker \d+ \(abandoned\) with (\d+) running/.exec(demo.output)?.[1])
    // What committed at that very moment does not start again; that is told, too.
    if (running > 1 && !demo.output.includes('none of them had to start again'))
      expect(demo.output).toMatch(/first start of the dead worker's keys \d\.\d s after the kill/)
    expect(demo.output).toContain('worker is an abandoned one')
    expect(demo.output).toMatch(/quarantine: database\.create badda7a0, 6 failures: 422/)
    expect(demo.output, 'plain lines only').not.toContain('\x1b')
  }, 120_000)

  test('on a terminal the reader wipes, kills and ends it', async ({ skip }) => {
    if (!hasScript()) return skip('the program `script` of util-linux, which makes a terminal, is not here')
    const demo = run('script', '-qfec', `"${process.execPath}" ${start} --seconds 600`, '/dev/null')
    const press = (key: string) => demo.child.stdin?.write(key)
    await demo.until(/queue +[1-9]\d+ hints/)
    press('w')
    await demo.until(/WIPED the queue: [1-9]\d* hints destroyed/)
    await demo.until(/first regrown start/)
    press('k')
    await demo.until(/KILLED worker/)
    press('q')
    expect(await demo.counts()).toMatchObject({ wipes: 1, kills: 1, lost: 0 })
    expect(await demo.exit, demo.output).toBe(0)
    // In place: the table goes up over itself and is erased, and the cursor is shown again at the end.
    expect(demo.output).toContain('A\x1b[J')
    expect(demo.output.lastIndexOf('\x1b[?25h')).toBeGreaterThan(demo.output.lastIndexOf('\x1b[?25l'))
    const lines = stripVTControlCharacters(demo.output).split('\n')
    expect(lines.filter((line) => line.length > 80)).toEqual([])
  }, 120_000)
})

describe('on Postgres', () => {
  test('workers are processes, a kill is kill -9, and nothing of the demo is left behind', async () => {
    const database = await freshDatabase('demo')
    const demo = run(process.execPath, ...start, '--seconds', '5', '--postgres', database.url)
    await demo.until(/hints [1-9]/)
    const second = run(process.execPath, ...start, '--seconds', '3', '--postgres', database.url)
    expect(await second.exit).toBe(1)
    expect(second.output).toContain('The schema regrow_demo exists: another demo runs on this database')
    expect(await demo.counts()).toMatchObject({ quarantined: 1, wipes: 1, kills: 1, lost: 0 })
    expect(await demo.exit, demo.output).toBe(0)
    expect(demo.output).toMatch(/WIPED the queue: [1-9]\d* hints destroyed/)
    expect(demo.output).toMatch(/first regrown start \d+\.\d s after the wipe/)
    expect(demo.output).toMatch(/KILLED worker \d+ \(kill -9 \d+\) with \d+ running/)
    expect(await query(database.url, `select nspname from pg_namespace where nspname like 'regrow%'`)).toEqual([])
    await database.drop()
  }, 120_000)

  test('what is lost or done twice is a fault and a non-zero exit; the work of others stays', async () => {
    const database = await freshDatabase('demo')
    const yours = regrow({ store: postgres(database.url) })
    await operate(yours).migrate()
    await yours.close()
    await query(database.url, `insert into regrow.sweeps (job, next_at) values ('yours', now())`)
    const demo = run(process.execPath, ...start, '--seconds', '6', '--postgres', database.url)
    await demo.until(/hints [1-9]/)
    const again = `insert into regrow_demo.audit_log select job, key from regrow_demo.audit_log limit 1 returning 1`
    while ((await query(database.url, again)).length === 0);
    // While nobody can take a key, the next intent that is stored is one that nobody has.
    const forget = `delete from regrow.intents where id = (select id from regrow.intents
      where not exists (select 1 from regrow.ledger where key = intents.id::text) limit 1) returning 1`
    const saboteur = new pg.Client({ connectionString: database.url })
    await saboteur.connect()
    await saboteur.query('begin')
    await saboteur.query('lock table regrow.ledger in share row exclusive mode')
    while ((await saboteur.query(forget)).rows.length === 0);
    await saboteur.query('commit')
    await saboteur.end()
    expect(await demo.counts()).toMatchObject({ lost: 1 })
    expect(await demo.exit, demo.output).toBe(1)
    expect(demo.output).toContain('FAULT: still waiting')
    expect(demo.output).toContain('FAULT: effects written more than once: 1')
    const left = `select job from regrow.sweeps union all select job from regrow.ledger
      union all select job from regrow.intents union all select job from regrow.hints`
    expect(await query(database.url, left)).toEqual([{ job: 'yours' }])
    expect(await query(database.url, `select to_regnamespace('regrow_demo') as demo`)).toEqual([{ demo: null }])
    await database.drop()
  }, 120_000)
})

test('flags are explained, and a wrong one is refused with code 2', async () => {
  const help = run(process.execPath, ...start, '--help')
  expect(await help.exit).toBe(0)
  expect(help.output).toMatch(/--seconds N .*default 30/s)
  for (const wrong of [['--seconds', 'soon'], ['--second', '3'], ['extra']]) {
    const refused = run(process.execPath, ...start, ...wrong)
    expect(await refused.exit, wrong.join(' ')).toBe(2)
    expect(refused.output).toContain('--seconds')
  }
  const nowhere = run(process.execPath, ...start, '--postgres', 'postgres://nobody@127.0.0.1:1/nothing')
  expect(await nowhere.exit).toBe(1)
  expect(nowhere.output).toContain('The demo could not go on: ')
}, 60_000)

test('the quick start runs the row that was enqueued and the row that was not', async () => {
  const program = run(process.execPath, '--import', 'jiti/register', 'examples/quick-start/main.ts')
  expect(await program.exit, program.output).toBe(0)
  expect(program.output).toMatch(/^2 databases are ready; 1 of them was never enqueued$/m)
}, 60_000)

function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
