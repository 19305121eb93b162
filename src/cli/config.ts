// Where environment, time and terminal enter the CLI; everything else gets them as arguments.
import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** What a command may know of where it runs. */
export interface Surroundings {
  readonly cwd: string
  readonly nodeVersion: string
  readonly pid: number
  /** A person at a terminal on both ends: may be asked. */
  readonly interactive: boolean
  readonly color: boolean
  /** Who acts, for the audit: REGROW_AUTHOR, or user@host. */
  readonly author: string
  /** The store that the environment names, and which variable does. */
  readonly store: { readonly address: string; readonly from: string } | undefined
  /** The terminal that is written to; undefined: a file or a pipe. */
  screen(): { readonly columns: number; readonly rows: number } | undefined
  /** The same of standard error; undefined also where a line cannot be written over. */
  errorScreen(): { readonly columns: number } | undefined
  /** Milliseconds, for durations only. */
  now(): number
  write(text: string): void
  complain(text: string): void
  sleep(ms: number): Promise<void>
  /** Calls `listener` for each of these signals until the process ends. */
  onSignal(signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): void
  /** A promise that nobody waits for was rejected: without a listener Node would end the process. */
  onRejection(listener: (error: unknown) => void): void
}

export function surroundings(): Surroundings {
  const { env } = process
  const named = ['REGROW_STORE', 'DATABASE_URL'].find((name) => env[name])
  return {
    cwd: process.cwd(),
    nodeVersion: process.versions.node,
    pid: process.pid,
    interactive: process.stdin.isTTY === true && process.stdout.isTTY === true && !env.CI,
    color: process.stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb',
    author: env.REGROW_AUTHOR || whoami(env),
    store: named ? { address: env[named] as string, from: named } : undefined,
    screen: () => {
      const { isTTY, columns, rows } = process.stdout
      return isTTY && columns > 0 ? { columns, rows } : undefined
    },
    errorScreen: () => {
      const { isTTY, columns } = process.stderr
      return isTTY && columns > 0 && env.TERM !== 'dumb' ? { columns } : undefined
    },
    now: () => performance.now(),
    write: (text) => void process.stdout.write(text),
    complain: (text) => void process.stderr.write(text),
    sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
    onSignal: (signals, listener) => {
      for (const signal of signals) process.on(signal, () => listener(signal))
    },
    onRejection: (listener) => void process.on('unhandledRejection', listener),
  }
}

/** The user of the system; in a container it may have no name. */
function whoami(env: NodeJS.ProcessEnv): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    return `${env.USER || 'unknown'}@${hostname()}`
  }
}

/** `regrow.app` of the nearest package.json that has one, as an absolute path. */
export function projectApp(cwd: string): string | undefined {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const app = manifest(folder)?.regrow?.app
    if (typeof app === 'string') return resolve(folder, app)
    if (folder === dirname(folder)) return undefined
  }
}

function manifest(folder: string): { regrow?: { app?: unknown } } | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  } catch {
    return undefined
  }
}

/** The version of this package. */
export function ownVersion(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
    .version
}
