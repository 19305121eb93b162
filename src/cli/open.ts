// Opens what a command works on: the app of a module, or a bare app on a store that somebody named.
import { existsSync } from 'node:fs'
import { extname, isAbsolute, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pglite } from '../drivers/pglite/index.ts'
import { postgres } from '../drivers/postgres/index.ts'
import { type App, type Handler, RegrowError, regrow, type StoreDriver } from '../index.ts'
import { type Cli, usage } from './command.ts'
import { projectApp } from './config.ts'

export interface Opened {
  readonly app: App
  /** What the module exports as `handlers`. */
  readonly handlers: readonly Handler[]
  /** Where it came from, without secrets. */
  readonly from: string
}

/** Runs `work` on the app of `--app` or of package.json, and closes it; that may take `farewellMs`, by default 5 s. */
export async function withApp<T>(
  args: { app?: string | undefined },
  cli: Cli,
  work: (opened: Opened) => Promise<T>,
  options: { farewellMs?: number } = {},
): Promise<T> {
  const path = args.app ?? projectApp(cli.around.cwd)
  if (path === undefined)
    throw usage(
      'No app was named',
      'Give --app <path> of the module that exports `app`, or put "regrow": { "app": "<path>" } into package.json. `regrow init` writes both.',
    )
  return closing(await load(resolve(cli.around.cwd, path), cli.around.cwd), cli, work, options.farewellMs)
}

/**
 * Runs `work` on regrow's tables: of --store or --app, else of the app that package.json names, else of REGROW_STORE or DATABASE_URL. An
 * app goes before a store that only the environment names: it knows the queue of the workers, which a store alone cannot see.
 * `tablesOnly`: the queue is not needed, so the environment goes first; and a PGlite directory may be a new one.
 */
export async function withStore<T>(
  args: { store?: string | undefined; app?: string | undefined },
  cli: Cli,
  work: (opened: Opened) => Promise<T>,
  { tablesOnly = false } = {},
): Promise<T> {
  const { cwd, store } = cli.around
  if (args.store !== undefined && args.app !== undefined)
    throw usage('Both --store and --app were given', 'Give one of them.')
  if (args.app !== undefined) return withApp(args, cli, work)
  const byApp = projectApp(cwd) !== undefined && !tablesOnly
  const named = args.store !== undefined ? { address: args.store, from: '--store' } : byApp ? undefined : store
  if (named) {
    const { driver, shown } = driverOf(named.address, cwd, tablesOnly)
    return closing(
      { app: regrow({ store: driver, migrate: false }), handlers: [], from: `${shown} (${named.from})` },
      cli,
      work,
    )
  }
  if (projectApp(cwd) !== undefined) return withApp({}, cli, work)
  throw usage(
    'No store was named',
    'Give --store postgres://user@host/database or --store <PGlite directory>, or set REGROW_STORE or DATABASE_URL.',
  )
}

/** How long closing may take: what is to be kept has been committed before. */
const farewellMs = 5_000

async function closing<T>(
  opened: Opened,
  { around }: Cli,
  work: (opened: Opened) => Promise<T>,
  patienceMs = farewellMs,
): Promise<T> {
  try {
    return await work(opened)
  } finally {
    // The result stands, whatever the farewell brings.
    await Promise.race([opened.app.close().catch(() => {}), around.sleep(patienceMs)])
  }
}

function driverOf(address: string, cwd: string, fresh: boolean): { driver: StoreDriver; shown: string } {
  if (/^postgres(ql)?:\/\//i.test(address)) return { driver: postgres(address), shown: addressWithoutSecrets(address) }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(address) && !address.startsWith('file://'))
    throw usage(
      `A store is in Postgres or PGlite, and this is ${address.split('://', 1)[0]}://…`,
      'Give postgres://user@host/database, or the directory of a PGlite.',
    )
  const directory = resolve(cwd, address.replace(/^file:\/\//, ''))
  const isThere = existsSync(join(directory, 'PG_VERSION'))
  // Neither it nor a path made of it is repeated: it may hold a password.
  if (looksLikeAddress.test(address) && !isThere)
    throw usage(
      'The store is neither a postgres:// address nor a directory',
      'Write the whole address, postgres://user@host/database, or the directory of a PGlite.',
    )
  if (!fresh && !isThere)
    throw usage(
      `There is no PGlite in ${shortPath(directory, cwd)}`,
      'Is the path right? `regrow migrate --store <directory>` makes a new one.',
    )
  return { driver: pglite(directory), shown: shortPath(directory, cwd) }
}

/** `postgres:/…` or `postgres//…`; `user:password@host` or `user/password@host`; `host=db password=x`. `C:\\data` and `./a@b` are directories. */
const looksLikeAddress =
  /^postgres(ql)?(:|\/\/)|^(?!\.{0,2}[/\\]|file:\/\/|[a-z]:[/\\]).*@|\b(password|host|user|dbname)\s*=/i

/** Host and database: no password, and no query, which may hold one. */
function addressWithoutSecrets(address: string): string {
  if (!URL.canParse(address)) return 'postgres://…'
  const { username, host, pathname } = new URL(address)
  return `postgres://${username ? `${username}@` : ''}${host}${pathname}`
}

const looksLikeApp = (value: unknown): value is App =>
  typeof value === 'object' && value !== null && ['job', 'work', 'on', 'close'].every((name) => name in value)

async function load(path: string, cwd: string): Promise<Opened> {
  const shown = shortPath(path, cwd)
  if (!existsSync(path)) throw usage(`There is no file ${shown}`, 'Give --app <path> of the module that exports `app`.')
  const module = await evaluate(path).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    const place = cause instanceof Error ? placeIn(cause, cwd) : undefined
    throw new RegrowError(
      'app_not_loaded',
      `${shown} could not be loaded: ${why}${place === undefined || why.includes(place) ? '' : ` (${place})`}`,
      'With --debug the stack is shown.',
      cause,
    )
  })
  const fallback = module.default as { app?: unknown; handlers?: unknown } | undefined
  const app = [module.app, fallback, fallback?.app].find(looksLikeApp)
  if (!app)
    throw new RegrowError(
      'no_app',
      `${shown} exports ${Object.keys(module).join(', ') || 'nothing'}, and none of these is an app`,
      'Export it: export const app = regrow({ store }).',
    )
  const handlers = module.handlers ?? fallback?.handlers ?? []
  if (!Array.isArray(handlers))
    throw new RegrowError(
      'bad_handlers',
      `\`handlers\` of ${shown} is no array`,
      'Export an array: export const handlers = [job.handle(…)].',
    )
  return { app, handlers: handlers as Handler[], from: shown }
}

/** A file and its line in a stack; Node's own files have no path. */
const framePlace = /(?:^|[\s(]|file:\/\/)((?:[A-Za-z]:)?[/\\][^\s():]+):(\d+)/g

/** `app.ts:12`: where it was thrown, in the first file that is no package's; undefined: its stack does not say. */
function placeIn(error: Error, cwd: string): string | undefined {
  const places = `${error.stack ?? ''}`.slice(0, 20_000).matchAll(framePlace)
  for (const [, path = '', line] of places)
    if (!/[/\\]node_modules[/\\]/.test(path)) return `${shortPath(path, cwd)}:${line}`
  return undefined
}

/** JavaScript is left to Node; TypeScript goes through jiti, which leaves nothing behind on the disk. */
async function evaluate(path: string): Promise<Record<string, unknown>> {
  const url = pathToFileURL(path).href
  if (['.js', '.mjs', '.cjs'].includes(extname(path))) return import(url)
  const { createJiti } = await import('jiti')
  return createJiti(url, { fsCache: false, interopDefault: false }).import(path)
}

function shortPath(path: string, cwd: string): string {
  const short = relative(cwd, path)
  return short.startsWith('..') || isAbsolute(short) ? path : short || '.'
}
