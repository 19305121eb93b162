// The examples as their readers run them: each is compiled against the package's own types, runs to its end by itself, and
// says at last what it has shown. An example whose claim does not hold ends with another exit code.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshRedis } from '../services/redis.ts'
import { projectTexts, root } from './markdown.ts'

/** The last line of each example. The demo and the quick start are in test/cli/demo.test.ts. */
const claims: Record<string, RegExp> = {
  handlers: /^four requests, three charges, three receipts, and all points are there$/,
  batches: /^calls with the bad one had 16, .*1 keys; the other fifteen parcels are sent$/,
  timeouts: /^one failure for the timeout, none for the stop, and nothing is written twice$/,
  pausing: /^four mails, each sent once; none was tried while ann had paused them$/,
  schedules: /^\d+ seconds: \d+ ran, [1-9]\d* were skipped while nobody worked, none is missing$/,
  redis: /^40 orders shipped, though the hints of most were deleted$/,
  skeleton: /^30 orders shipped once each, though the queue was flushed and a worker died with some of them$/,
  deploying: /^50 orders mailed and invoiced once each, and the report built once$/,
}
const elsewhere = ['control-plane', 'quick-start']
const folders = readdirSync(join(root, 'examples'), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
)
const config = join(root, '.tmp', `examples-${process.pid}.json`)

async function node(...args: string[]): Promise<string> {
  const options = { cwd: root, timeout: 100_000, env: { ...process.env, REDIS_URL: freshRedis().url, NODE_ENV: '' } }
  try {
    return (await promisify(execFile)(process.execPath, args, options)).stdout
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number | null }
    throw new Error(`${args.at(-1)} ended with ${code}\n${stdout}\n${stderr}`)
  }
}

beforeAll(() => node('scripts/setup.mjs'), 120_000)
afterAll(() => rmSync(config, { force: true }))

test('every example is named in examples/README.md, has a claim, and starts as its first lines say', () => {
  expect(folders.toSorted()).toEqual([...Object.keys(claims), ...elsewhere].toSorted())
  const named = projectTexts()
    .filter(({ file }) => file === 'examples/README.md')
    .flatMap(({ links }) => links.map(({ target }) => target.split('/')[0]))
  expect(folders.filter((folder) => !named.includes(folder))).toEqual([])
  for (const folder of Object.keys(claims)) {
    const path = `examples/${folder}/main.ts`
    expect(existsSync(join(root, path)), path).toBe(true)
    expect(readFileSync(join(root, path), 'utf8')).toContain(`node --import jiti/register ${path}\n`)
  }
})

test('they compile against the types that the package ships', async () => {
  const compilerOptions = {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
  }
  const files = [...Object.keys(claims), 'quick-start'].map((folder) => join(root, 'examples', folder, 'main.ts'))
  mkdirSync(join(root, '.tmp'), { recursive: true })
  writeFileSync(config, JSON.stringify({ compilerOptions, files }))
  expect(await node(join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', config)).toBe('')
}, 120_000)

test.each(Object.keys(claims))(
  'examples/%s runs to its end and shows what it claims',
  async (folder) => {
    const printed = await node('--import', 'jiti/register', `examples/${folder}/main.ts`)
    expect(printed.trimEnd().split('\n').at(-1)).toMatch(claims[folder] as RegExp)
  },
  120_000,
)
