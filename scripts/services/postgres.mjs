// A real PostgreSQL server of one's own for a test run: random port, data in the OS temp dir, gone afterwards, also
// after a kill -9 of the tests. A shared server may instead be named by REGROW_TEST_POSTGRES_URL.

import { execFile } from 'node:child_process'
import { appendFileSync, chownSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { serverAccount, serverFolder } from './account.mjs'
import { query, quoteName, untilReady, withDatabase } from './client.mjs'
import { container } from './container.mjs'
import { find, say } from './finder.mjs'
import { forget } from './guard.mjs'
import { postgresNeed } from './needs/postgres.mjs'
import { freePort } from './port.mjs'
import { program } from './program.mjs'

const run = promisify(execFile)
const STOP_SIGNALS = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' }

/** See index.d.mts. */
export async function startPostgres({ settings = {}, shared = false, standbyOf } = {}) {
  const named = process.env.REGROW_TEST_POSTGRES_URL
  if (shared && named) return namedPostgres(named)

  const found = await find(postgresNeed)
  if (standbyOf && found.kind === 'docker')
    throw new Error('A standby needs Postgres on this machine, not in a container.')
  // Between looking for a free port and listening on it another process may take it.
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    const made =
      found.kind === 'docker'
        ? inDocker(found.image, port, settings)
        : await onThisMachine(found.folder, port, settings, standbyOf)
    const server = postgresServer(made, port)
    try {
      await server.start()
      say(`postgres: pid ${server.pid}, port ${port}, ${made.dataDir}`)
      return server
    } catch (error) {
      await server.close()
      if (tries === 5 || !/address already in use|port is already allocated/i.test(error.message)) throw error
    }
  }
}

async function onThisMachine(folder, port, settings, primary) {
  const home = serverFolder('pg')
  const dataDir = join(home, 'data')
  await (primary ? copyOf(primary, dataDir) : initdb(folder, dataDir))
  const all = {
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
    process: program({
      command: join(folder, 'postgres'),
      args: ['-D', dataDir],
      logFile: join(home, 'server.log'),
      endSignal: 'SIGQUIT',
    }),
    async clean() {
      await removeSharedMemory(dataDir)
      rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
      forget('folder', home)
    },
  }
}

/** A primary that stands still is copied by copying its files; from there on the standby follows it by itself. */
async function copyOf(primary, dataDir) {
  await primary.stop()
  await run('cp', ['-a', primary.dataDir, dataDir])
  await primary.start()
  const signal = join(dataDir, 'standby.signal')
  writeFileSync(signal, '')
  const { uid, gid } = statSync(dataDir)
  chownSync(signal, uid, gid)
}

async function initdb(folder, dataDir) {
  const base = ['-D', dataDir, '--no-sync', '--auth=trust', '--username=postgres', '--encoding=UTF8']
  const spawned = (locale) =>
    run(join(folder, 'initdb'), [...base, `--locale=${locale}`], { cwd: '/', ...serverAccount() })
  try {
    await spawned('C.UTF-8')
  } catch (error) {
    // Older macOS has no C.UTF-8; both sort by bytes.
    if (!/invalid locale/i.test(`${error.stderr}`)) throw error
    await spawned('C')
  }
}

function inDocker(image, port, settings) {
  return {
    dataDir: '/var/lib/postgresql/data',
    process: container({
      image,
      options: [
        ...['--publish', `127.0.0.1:${port}:5432`],
        ...['--env', 'POSTGRES_HOST_AUTH_METHOD=trust'],
        ...['--env', 'POSTGRES_INITDB_ARGS=--no-sync --encoding=UTF8 --locale=C.UTF-8'],
      ],
      args: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      endSignal: 'SIGQUIT',
    }),
    async clean() {},
  }
}

function postgresServer({ process: server, dataDir, clean }, port) {
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
        if (await untilReady(url(), server.isRunning)) return
        const log = await server.logTail()
        // After kill9 the old children need a moment to notice; until then a new server refuses to start.
        if (performance.now() > end || !/still in use|lock file "postmaster.pid" already exists/.test(log)) {
          throw new Error(`Postgres did not start on port ${port}:\n${log}`)
        }
        await sleep(50)
      }
    },
    async stop(mode = 'fast') {
      await server.end(STOP_SIGNALS[mode])
    },
    async restart(mode = 'fast') {
      await this.stop(mode)
      await this.start()
    },
    async kill9() {
      await server.end('SIGKILL')
    },
    async close() {
      await server.remove()
      await clean()
    },
  }
}

/** A server that somebody else runs: it can be used, not stopped. */
function namedPostgres(named) {
  const url = (database) => (database === undefined ? named : withDatabase(named, database))
  const refuse = async () => {
    throw new Error(
      'This server is named by REGROW_TEST_POSTGRES_URL and not ours to stop. Use startPostgres() without `shared`.',
    )
  }
  say('postgres: the one named by REGROW_TEST_POSTGRES_URL')
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

function databases(url) {
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
async function removeSharedMemory(dataDir) {
  let id
  try {
    id = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[6]?.trim().split(/\s+/)[1]
  } catch {
    return
  }
  if (id) await run('ipcrm', ['-m', id]).catch(() => {})
}
