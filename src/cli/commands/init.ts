// regrow init: writes an app module and a worker into a new or existing project. Overwrites nothing silently.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { RegrowError } from '../../index.ts'
import { type Cli, command } from '../command.ts'
import { type InitChoice, initFiles } from '../init-files.ts'

type Store = InitChoice['store']
type Queue = InitChoice['queue']

export const init = command({
  name: 'init',
  summary: 'Writes a working app module and a worker into a project',
  about:
    'Writes regrow/app and regrow/worker, and names the app in package.json, so that the other commands find it. Asks only\nat a terminal, and only for what no flag says.',
  args: {
    dir: {
      type: 'string',
      valueHint: 'path',
      description: 'Folder of the project; made if it is not there. Defaults to this one',
    },
    store: { type: 'enum', options: ['pglite', 'postgres'], description: 'Defaults to pglite, which needs no server' },
    queue: {
      type: 'enum',
      options: ['store', 'redis'],
      description: "Defaults to the store's own: a table beside Postgres, memory beside PGlite",
    },
    language: {
      type: 'enum',
      options: ['ts', 'js'],
      description: 'Defaults to ts where there is a tsconfig.json or Node runs TypeScript',
    },
    force: { type: 'boolean', description: 'Overwrite files that are there' },
    yes: { type: 'boolean', description: 'Ask nothing' },
  },
  examples: [
    ['regrow init', ''],
    ['regrow init --dir jobs --store postgres --yes', 'without a question'],
    ['regrow init --store postgres --queue redis', 'hints in the Redis of REDIS_URL'],
  ],
  async run(args, cli) {
    const dir = resolve(cli.around.cwd, args.dir ?? '.')
    const asks = cli.around.interactive && !args.yes && !cli.out.json
    const store = (args.store ?? (asks ? await askStore() : 'pglite')) as Store
    const queue = (args.queue ?? 'store') as Queue
    const manifest = readManifest(dir)
    const typescript = args.language
      ? args.language === 'ts'
      : existsSync(join(dir, 'tsconfig.json')) || runsTypeScript(cli)
    const esm = manifest === undefined || manifest.content.type === 'module'
    const extension = typescript ? (esm ? 'ts' : 'mts') : 'mjs'
    const namespace = projectName(String(manifest?.content.name ?? basename(dir)))
    const files = {
      ...initFiles({ store, queue, namespace, extension }),
      'package.json': manifestText(dir, manifest, extension),
    }
    const plan = Object.entries(files).map(([path, text]) => ({ path, text, found: read(join(dir, path)) }))
    const changed = plan.filter(({ text, found }) => found !== text)
    await allow(
      changed.filter(({ path, found }) => found !== undefined && conflicts(path, manifest, extension)),
      asks,
      args.force === true,
    )
    for (const { path, text } of changed) {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    }
    const written = changed.map(({ path }) => path)
    const next = nextSteps(args.dir, { store, queue, extension })
    cli.out.result({ dir, store, queue, written, next }, () =>
      [
        written.length > 0 ? `Wrote ${written.join(', ')}` : 'Everything is there already',
        '',
        'Next:',
        ...next.map((line) => `  ${line}`),
      ].join('\n'),
    )
    return 0
  },
})

interface Manifest {
  readonly text: string
  readonly content: { name?: string; type?: string; regrow?: { app?: string } }
}

function readManifest(dir: string): Manifest | undefined {
  const text = read(join(dir, 'package.json'))
  if (text === undefined) return undefined
  try {
    return { text, content: JSON.parse(text) as Manifest['content'] }
  } catch (cause) {
    throw new RegrowError(
      'bad_package_json',
      `${join(dir, 'package.json')} is no JSON`,
      'Mend it first; nothing was written.',
      cause,
    )
  }
}

/** A name that npm takes, and that a namespace may have, too. */
const projectName = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64) || 'jobs'

const appPath = (extension: string) => `./regrow/app.${extension}`

/** A new package.json, or the one that is there with `regrow.app` in it, indented as it was. */
function manifestText(dir: string, manifest: Manifest | undefined, extension: string): string {
  const app = appPath(extension)
  if (!manifest) {
    return `${JSON.stringify({ name: projectName(basename(dir)), private: true, type: 'module', regrow: { app } }, null, 2)}\n`
  }
  if (manifest.content.regrow?.app === app) return manifest.text
  const indent = /^[ \t]+/m.exec(manifest.text)?.[0] ?? '  '
  const content = { ...manifest.content, regrow: { ...manifest.content.regrow, app } }
  return `${JSON.stringify(content, null, indent)}${manifest.text.endsWith('\n') ? '\n' : ''}`
}

/** Adding `regrow.app` to a package.json takes nothing away; naming another app does. */
function conflicts(path: string, manifest: Manifest | undefined, extension: string): boolean {
  const named = manifest?.content.regrow?.app
  return path !== 'package.json' || (named !== undefined && named !== appPath(extension))
}

async function allow(existing: readonly { path: string }[], asks: boolean, force: boolean): Promise<void> {
  if (existing.length === 0 || force) return
  const paths = existing.map(({ path }) => path).join(', ')
  if (asks) {
    const { confirm } = await import('@clack/prompts')
    if ((await confirm({ message: `Overwrite ${paths}?`, initialValue: false })) === true) return
  }
  throw new RegrowError(
    'file_exists',
    `There already, and different: ${paths}`,
    'Nothing was written. --force overwrites.',
  )
}

async function askStore(): Promise<Store> {
  const { isCancel, select } = await import('@clack/prompts')
  const answer = await select<Store>({
    message: 'Where is the truth?',
    options: [
      { value: 'pglite', label: 'PGlite', hint: 'embedded, no server: to try it, for tests and small programs' },
      { value: 'postgres', label: 'Postgres', hint: 'the database of DATABASE_URL' },
    ],
  })
  if (isCancel(answer)) throw new RegrowError('cancelled', 'Cancelled', 'Nothing was written.')
  return answer
}

/** Node runs TypeScript by itself from 22.18 on. */
function runsTypeScript({ around }: Cli): boolean {
  const [major = 0, minor = 0] = around.nodeVersion.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 6) || (major === 22 && minor >= 18)
}

function nextSteps(dir: string | undefined, { store, queue, extension }: Omit<InitChoice, 'namespace'>): string[] {
  // Node does not look for app.ts where app.js is imported, and `tsc --init` allows no import of app.ts.
  const node = extension === 'mjs' ? 'node' : 'npx jiti'
  return [
    ...(dir === undefined || dir === '.' ? [] : [`cd ${dir}`]),
    `npm install regrow${store === 'postgres' ? ' pg' : ''}${queue === 'redis' ? ' @redis/client' : ''}`,
    ...(store === 'postgres' ? ['export DATABASE_URL=postgres://user@host/database'] : []),
    ...(queue === 'redis' ? ['export REDIS_URL=redis://host:6379'] : []),
    `${node} regrow/worker.${extension}    # the example: makes its table, runs one job`,
    // With a store alone it would count the hints of a table that this app does not use.
    `npx regrow status${queue === 'redis' ? ` --app regrow/app.${extension}` : ''}`,
    'npx regrow work                # all jobs of regrow/app',
  ]
}

function read(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
