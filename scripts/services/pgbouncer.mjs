// A PgBouncer in front of a test Postgres: the pooler that most hosted databases put there. Any database of the
// server behind it can be reached through it, as any user, without a password.

import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serverFolder } from './account.mjs'
import { untilReady, withDatabase } from './client.mjs'
import { container } from './container.mjs'
import { find, say } from './finder.mjs'
import { forget } from './guard.mjs'
import { pgbouncerNeed } from './needs/pgbouncer.mjs'
import { freePort } from './port.mjs'
import { program } from './program.mjs'

/** See index.d.mts. */
export async function startPgbouncer({ postgres, poolMode = 'transaction', settings = {}, shared = false }) {
  const named = process.env.REGROW_TEST_PGBOUNCER_URL
  if (shared && named) {
    if (!process.env.REGROW_TEST_POSTGRES_URL) {
      throw new Error(
        'REGROW_TEST_PGBOUNCER_URL needs REGROW_TEST_POSTGRES_URL: the server that it stands in front of.',
      )
    }
    say('pgbouncer: the one named by REGROW_TEST_PGBOUNCER_URL')
    return {
      port: Number(new URL(named).port || 6432),
      pid: undefined,
      url: (database) => withDatabase(named, database),
      async close() {},
    }
  }

  const found = await find(pgbouncerNeed)
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    const bouncer = await start(found, port, new URL(postgres.url()), poolMode, settings)
    if (await untilReady(bouncer.url('postgres'), bouncer.isRunning, 20_000)) {
      say(`pgbouncer: pid ${bouncer.pid}, port ${port}, pool_mode ${poolMode}`)
      return bouncer
    }
    const log = await bouncer.logTail()
    await bouncer.close()
    if (tries === 5 || !/address already in use/i.test(log))
      throw new Error(`PgBouncer did not start on port ${port}:\n${log}`)
  }
}

async function start(found, port, behind, poolMode, settings) {
  const home = serverFolder('bouncer')
  const file = join(home, 'pgbouncer.ini')
  const dockerDesktop = found.kind === 'docker' && process.platform !== 'linux'
  const host = dockerDesktop ? 'host.docker.internal' : behind.hostname
  const listen = dockerDesktop ? '0.0.0.0' : '127.0.0.1'
  writeFileSync(
    file,
    ini({ port, behind, host, listen, poolMode, settings, socketDir: found.kind === 'docker' ? '' : home }),
    { mode: 0o644 },
  )
  // The account inside the container is another one.
  if (found.kind === 'docker') chmodSync(home, 0o755)
  const endSignal = 'SIGTERM'
  const server =
    found.kind === 'docker'
      ? container({
          image: found.image,
          options: dockerOptions(home, port, dockerDesktop),
          args: ['pgbouncer', '/etc/pgbouncer/pgbouncer.ini'],
          endSignal,
        })
      : program({
          command: join(found.folder, 'pgbouncer'),
          args: [file],
          logFile: join(home, 'server.log'),
          endSignal,
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
      forget('folder', home)
    },
  }
}

function dockerOptions(home, port, dockerDesktop) {
  const network = dockerDesktop ? ['--publish', `127.0.0.1:${port}:${port}`] : ['--network', 'host']
  return [...network, '--volume', `${home}:/etc/pgbouncer:ro`]
}

function ini({ port, behind, host, listen, poolMode, settings, socketDir }) {
  const password = behind.password ? ` password=${decodeURIComponent(behind.password)}` : ''
  const all = {
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
