// A PgBouncer in front of a test Postgres: the pooler that most hosted databases put there. Any database of the
// server behind it can be reached through it, as any user, without a password.

import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dockerContainer } from './docker-container.ts'
import { freePort } from './free-port.ts'
import { localProcess } from './local-process.ts'
import { log } from './log.ts'
import type { PostgresServer } from './postgres.ts'
import { waitUntilReady, withDatabase } from './postgres-client.ts'
import type { Provision } from './provision.ts'
import { provisionServer } from './requirements/index.ts'
import type { ServerProcess } from './server-process.ts'
import { release } from './supervisor.ts'
import { serverFolder } from './unprivileged-user.ts'

type PoolMode = 'session' | 'transaction' | 'statement'
type Settings = Record<string, string | number>

export interface PgbouncerOptions {
  /** The server behind it. */
  postgres: Pick<PostgresServer, 'url'>
  /** Defaults to `transaction`. */
  poolMode?: PoolMode
  /** Further lines of the [pgbouncer] section. */
  settings?: Settings
  /** True lets REGROW_TEST_PGBOUNCER_URL name one instead. Defaults to false. */
  shared?: boolean
}

export interface Pgbouncer {
  readonly port: number
  readonly pid: number | undefined
  url(database: string): string
  close(): Promise<void>
}

/** Starts a PgBouncer. It ends with this process, however that ends. */
export async function startPgbouncer(options: PgbouncerOptions): Promise<Pgbouncer> {
  const { postgres, poolMode = 'transaction', settings = {}, shared = false } = options
  const named = process.env.REGROW_TEST_PGBOUNCER_URL
  if (shared && named) return namedPgbouncer(named)

  const found = await provisionServer('pgbouncer')
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    const bouncer = await start(found, port, new URL(postgres.url()), poolMode, settings)
    if (await waitUntilReady(bouncer.url('postgres'), bouncer.isRunning, 20_000)) {
      log(`pgbouncer: pid ${bouncer.pid}, port ${port}, pool_mode ${poolMode}`)
      return bouncer
    }
    const output = await bouncer.logTail()
    await bouncer.close()
    if (tries === 5 || !/address already in use/i.test(output))
      throw new Error(`PgBouncer did not start on port ${port}:\n${output}`)
  }
}

function namedPgbouncer(named: string): Pgbouncer {
  if (!process.env.REGROW_TEST_POSTGRES_URL)
    throw new Error('REGROW_TEST_PGBOUNCER_URL needs REGROW_TEST_POSTGRES_URL: the server behind it.')
  log('pgbouncer: the one named by REGROW_TEST_PGBOUNCER_URL')
  return {
    port: Number(new URL(named).port || 6432),
    pid: undefined,
    url: (database) => withDatabase(named, database),
    async close() {},
  }
}

async function start(
  found: Provision,
  port: number,
  behind: URL,
  poolMode: PoolMode,
  settings: Settings,
): Promise<Pgbouncer & Pick<ServerProcess, 'isRunning' | 'logTail'>> {
  const home = serverFolder('bouncer')
  const file = join(home, 'pgbouncer.ini')
  const dockerDesktop = found.kind === 'docker' && process.platform !== 'linux'
  const host = dockerDesktop ? 'host.docker.internal' : behind.hostname
  const listen = dockerDesktop ? '0.0.0.0' : '127.0.0.1'
  const socketDir = found.kind === 'docker' ? '' : home
  writeFileSync(file, ini({ port, behind, host, listen, poolMode, settings, socketDir }), { mode: 0o644 })
  // Inside the container another user runs.
  if (found.kind === 'docker') chmodSync(home, 0o755)
  const stopSignal = 'SIGTERM'
  const server =
    found.kind === 'docker'
      ? dockerContainer({
          image: found.image,
          options: dockerOptions(home, port, dockerDesktop),
          args: ['pgbouncer', '/etc/pgbouncer/pgbouncer.ini'],
          stopSignal,
        })
      : localProcess({
          command: join(found.folder, 'pgbouncer'),
          args: [file],
          logFile: join(home, 'server.log'),
          stopSignal,
        })
  await server.start()

  return {
    port,
    get pid() {
      return server.pid
    },
    isRunning: server.isRunning,
    logTail: server.logTail,
    url: (database) => withDatabase(`postgres://postgres@127.0.0.1:${port}/`, database),
    async close() {
      await server.remove()
      rmSync(home, { recursive: true, force: true })
      release('folder', home)
    },
  }
}

function dockerOptions(home: string, port: number, dockerDesktop: boolean): string[] {
  const network = dockerDesktop ? ['--publish', `127.0.0.1:${port}:${port}`] : ['--network', 'host']
  return [...network, '--volume', `${home}:/etc/pgbouncer:ro`]
}

interface IniFacts {
  port: number
  behind: URL
  host: string
  listen: string
  poolMode: PoolMode
  settings: Settings
  socketDir: string
}

function ini({ port, behind, host, listen, poolMode, settings, socketDir }: IniFacts): string {
  const password = behind.password ? ` password=${decodeURIComponent(behind.password)}` : ''
  const all: Settings = {
    listen_addr: listen,
    listen_port: port,
    unix_socket_dir: socketDir,
    auth_type: 'any',
    pool_mode: poolMode,
    max_client_conn: 1000,
    default_pool_size: 20,
    // Many short-lived test databases share the server's connections.
    server_idle_timeout: 5,
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  return [
    '[databases]',
    `* = host=${host} port=${behind.port || 5432} user=${decodeURIComponent(behind.username || 'postgres')}${password}`,
    '[pgbouncer]',
    ...lines,
    '',
  ].join('\n')
}
