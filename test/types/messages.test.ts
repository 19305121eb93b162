// What the compiler says of a mistake is part of the interface: it names the way out.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

const programs: Record<string, { code: string; says: RegExp[] }> = {
  'in on a pending job': {
    code: `void app.job('a', { pending }).enqueue('x', { in: '10m' })`,
    says: [/the row says when: return it as `run_at`/],
  },
  'at on a pending job': {
    code: `void app.job('a', { pending }).enqueueMany(['x'], { at: new Date() })`,
    says: [/the row says when: return it as `run_at`/],
  },
  'no kind of job': { code: `app.job('a', { timeout: '5s' })`, says: [/'pending' is missing/, /PendingOptions/] },
  'a misspelt option': {
    code: `app.job('a', { pending, timeuot: '5s' })`,
    says: [/'timeuot' does not exist/, /timeout/],
  },
  'a number as a uuid': {
    code: `void app.job('a', { key: 'uuid', pending }).enqueue(7)`,
    says: [/'number' is not assignable to parameter of type 'string'/],
  },
  'a handler that wants the transaction of another store': {
    code: `app.job('a', { pending, run: (_, ctx: Context<{ copyFrom(text: string): void }>) => void ctx })`,
    says: [/'copyFrom' is missing in type 'PgliteTransaction'/],
  },
  'a schedule beside a pending query': {
    code: `app.job('a', { pending, schedule: { every: '1h' } })`,
    says: [/a job has one of `pending`, `input`, `schedule`/],
  },
  'a misspelt option of a schedule': {
    code: `app.job('a', { schedule: { every: '1h', jiter: '1m' } })`,
    says: [/a `schedule` has `cron` or `every`, and `tz`, .*`jitter`/],
  },
  'a slot that is enqueued': {
    code: `void app.job('a', { schedule: { every: '1h' } }).enqueue('x')`,
    says: [/enqueue/],
  },
  'a store that is none': {
    code: `void regrow({ store: 'postgres://localhost' })`,
    says: [/'string' is not assignable to type 'StoreDriver</],
  },
  'no mistake': { code: `void app.job('a', { pending }).enqueue('x', { jitter: '10m' })`, says: [] },
}

let folder: string
const output = new Map<string, string>()

beforeAll(async () => {
  // Inside the checkout, so that packages are found as they are for the tests.
  folder = mkdtempSync(join(root, 'node_modules', '.regrow-types-'))
  const names = Object.keys(programs)
  names.forEach((name, i) => {
    const opening = `import { type Context, regrow, sql } from 'regrow'\nimport { pglite } from 'regrow/pglite'\n
const app = regrow({ store: pglite() })\nconst pending = sql\`select id from things\`\nvoid pending\nexport type Used = Context\n`
    writeFileSync(join(folder, `program-${i}.ts`), `${opening}${programs[name]?.code}\n`)
  })
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        types: [],
        paths: { regrow: [join(root, 'src/index.ts')], 'regrow/*': [join(root, 'src/drivers/*/index.ts')] },
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: ['*.ts'],
      exclude: [],
    }),
  )
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const told = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { cwd: folder }, (_, stdout) =>
      resolve(stdout),
    )
  })
  let name = ''
  for (const line of told.split('\n')) {
    const place = /program-(\d+)\.ts/.exec(line)
    if (place) name = names[Number(place[1])] as string
    output.set(name, `${output.get(name) ?? ''}${line}\n`)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each(Object.entries(programs))('%s', (name, { says }) => {
  const told = output.get(name) ?? ''
  for (const sentence of says) expect(told).toMatch(sentence)
  if (says.length === 0) expect(told.trim()).toBe('')
})
