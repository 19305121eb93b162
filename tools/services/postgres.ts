// A PostgreSQL server for one test run: random port, data in the OS temp dir, removed afterwards, also
// after a kill -9 of the tests. REGROW_TEST_POSTGRES_URL may name a shared server instead.

import { execFile } from 'node:child_process'
import { appendFileSync, chownSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { dockerContainer } from './docker-container.ts'
import { freePort } from './free-port.ts'
import { localProcess } from './local-process.ts'
import { log } from './log.ts'
import { query, quoteName, waitUntilReady, withDatabase } from './postgres-client.ts'
import { provisionServer } from './requirements/index.ts'
import type { ServerProcess } from './server-process.ts'
import { release } from './supervisor.ts'
import { serverFolder, unprivilegedUser } from './unprivileged-user.ts'

const run = promisify(execFile)
const STOP_SIGNALS = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' } as const
const CRASH_STOP = STOP_SIGNALS.immediate

type Settings = Record<string, string | number | boolean>

export interface PostgresOptions {
  /** Lines of postgresql.conf, such as `{ max_connections: 200 }`. Defaults to the server's own. */
  settings?: Settings
  /** True lets REGROW_TEST_POSTGRES_URL name a server instead, which then cannot be stopped. Defaults to false. */
  shared?: boolean
  /** The primary that it follows, which is restarted for it; `select pg_promote()` ends that. Defaults to none. */
  standbyOf?: PostgresServer
}

export interface PostgresServer {
  readonly port: number
  /** Pid of the postmaster; undefined for a server that is named by the environment. Changes with a restart. */
  readonly pid: number | undefined
  readonly dataDir: string | undefined
  /** Connection string. The database defaults to `postgres`. */
  url(database?: string): string
  /** Answers the new database's connection string. */
  createDatabase(name: string): Promise<string>
  /** Ends the database's sessions and drops it, if it is there. */
  dropDatabase(name: string): Promise<void>
  /** Starts a stopped or killed server on the same port and data. */
  start(): Promise<void>
  /** `immediate` is a crash that Postgres recovers from; `smart` waits for clients. Defaults to `fast`. */
  stop(mode?: 'smart' | 'fast' | 'immediate'): Promise<void>
  restart(mode?: 'smart' | 'fast' | 'immediate'): Promise<void>
  /** SIGKILL to the postmaster. Its children follow by themselves a moment later. */
  kill9(): Promise<void>
  /** Ends the server and removes its data. */
  close(): Promise<void>
}

/** A server that is set up and not started yet. */
interface Prepared {
  readonly dataDir: string
  readonly process: ServerProcess
  clean(): Promise<void>
}

/** Starts a PostgreSQL server. It ends with this process, however that ends. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const { settings = {}, shared = false, standbyOf } = options
  const named = process.env.REGROW_TEST_POSTGRES_URL
  if (shared && named) return namedPostgres(named)

  const found = await provisionServer('postgres')
  if (standbyOf && found.kind === 'docker')
    throw new Error('A standby needs Postgres on this machine, not in a container.')
  // Another process may take the port between the look for a free one and the start of the server.
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    const prepared =
      found.kind === 'docker'
        ? inDocker(found.image, port, settings)
        : await onThisMachine(found.folder, port, settings, standbyOf)
    const server = postgresServer(prepared, port)
    try {
      await server.start()
      log(`postgres: pid ${server.pid}, port ${port}, ${prepared.dataDir}`)
      return server
    } catch (error) {
      await server.close()
      if (tries === 5 || !/address already in use|port is already allocated/i.test((error as Error).message))
        throw error
    }
  }
}

async function onThisMachine(
  folder: string,
  port: number,
  settings: Settings,
  primary: PostgresServer | undefined,
): Promise<Prepared> {
  const home = serverFolder('pg')
  const dataDir = join(home, 'data')
  await (primary ? copyDataOf(primary, dataDir) : initdb(folder, dataDir))
  const all: Settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: home,
    ...(primary ? { primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres` } : {}),
    ...settings,
  }
  appendFileSync(
    join(dataDir, 'postgresql.conf'),
    Object.entries(all)
      .map(([name, value]) => `${name} = '${value}'\n`)
      .join(''),
  )
  return {
    dataDir,
    process: localProcess({
      command: join(folder, 'postgres'),
      args: ['-D', dataDir],
      logFile: join(home, 'server.log'),
      stopSignal: CRASH_STOP,
    }),
    async clean() {
      await removeSharedMemory(dataDir)
      rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
      release('folder', home)
    },
  }
}

/** Copying the files of a stopped primary makes a standby; from there on it follows by itself. */
async function copyDataOf(primary: PostgresServer, dataDir: string): Promise<void> {
  if (primary.dataDir === undefined) throw new Error('A standby needs a primary that startPostgres() started.')
  await primary.stop()
  await run('cp', ['-a', primary.dataDir, dataDir])
  await primary.start()
  const signal = join(dataDir, 'standby.signal')
  writeFileSync(signal, '')
  const { uid, gid } = statSync(dataDir)
  chownSync(signal, uid, gid)
}

async function initdb(folder: string, dataDir: string): Promise<void> {
  const base = ['-D', dataDir, '--no-sync', '--auth=trust', '--username=postgres', '--encoding=UTF8']
  const withLocale = (locale: string) =>
    run(join(folder, 'initdb'), [...base, `--locale=${locale}`], { cwd: '/', ...unprivilegedUser() })
  try {
    await withLocale('C.UTF-8')
  } catch (error) {
    // Older macOS has no C.UTF-8; both sort by bytes.
    if (!/invalid locale/i.test(`${(error as { stderr?: string }).stderr}`)) throw error
    await withLocale('C')
  }
}

function inDocker(image: string, port: number, settings: Settings): Prepared {
  return {
    dataDir: '/var/lib/postgresql/data',
    process: dockerContainer({
      image,
      options: [
        ...['--publish', `127.0.0.1:${port}:5432`],
        ...['--env', 'POSTGRES_HOST_AUTH_METHOD=trust'],
        ...['--env', 'POSTGRES_INITDB_ARGS=--no-sync --encoding=UTF8 --locale=C.UTF-8'],
      ],
      args: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      stopSignal: CRASH_STOP,
    }),
    async clean() {},
  }
}

function postgresServer({ process: server, dataDir, clean }: Prepared, port: number): PostgresServer {
  const url = (database = 'postgres') => withDatabase(`postgres://postgres@127.0.0.1:${port}/`, database)

  return {
    port,
    dataDir,
    get pid() {
      return server.pid
    },
    url,
    ...databases(url),

    async start() {
      const end = performance.now() + 30_000
      for (;;) {
        await server.start()
        if (await waitUntilReady(url(), server.isRunning)) return
        const output = await server.logTail()
        // After kill9 the old children need a moment to notice; until then a new server refuses to start.
        if (performance.now() > end || !/still in use|lock file "postmaster.pid" already exists/.test(output))
          throw new Error(`Postgres did not start on port ${port}:\n${output}`)
        await sleep(50)
      }
    },
    async stop(mode = 'fast') {
      await server.stop(STOP_SIGNALS[mode])
    },
    async restart(mode = 'fast') {
      await this.stop(mode)
      await this.start()
    },
    async kill9() {
      await server.stop('SIGKILL')
    },
    async close() {
      await server.remove()
      await clean()
    },
  }
}

/** A server that REGROW_TEST_POSTGRES_URL names: tests can use it, and cannot stop it. */
function namedPostgres(named: string): PostgresServer {
  const url = (database?: string) => (database === undefined ? named : withDatabase(named, database))
  const refuse = async () => {
    throw new Error(
      'REGROW_TEST_POSTGRES_URL names this server, so tests cannot stop it. Use startPostgres() without `shared`.',
    )
  }
  log('postgres: the one named by REGROW_TEST_POSTGRES_URL')
  return {
    port: Number(new URL(named).port || 5432),
    dataDir: undefined,
    pid: undefined,
    url,
    ...databases(url),
    start: refuse,
    stop: refuse,
    restart: refuse,
    kill9: refuse,
    async close() {},
  }
}

function databases(url: PostgresServer['url']): Pick<PostgresServer, 'createDatabase' | 'dropDatabase'> {
  return {
    async createDatabase(name) {
      await query(url(), `create database ${quoteName(name)}`)
      return url(name)
    },
    async dropDatabase(name) {
      await query(url(), `drop database if exists ${quoteName(name)} with (force)`)
    },
  }
}

/** Only kill9 without a restart leaves a segment behind. macOS has room for 32 of them. */
async function removeSharedMemory(dataDir: string): Promise<void> {
  let id: string | undefined
  try {
    id = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[6]?.trim().split(/\s+/)[1]
  } catch {
    return
  }
  if (id) await run('ipcrm', ['-m', id]).catch(() => {})
}
