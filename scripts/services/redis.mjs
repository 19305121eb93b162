// A real Redis server of one's own for a test run: random port of 127.0.0.1, data in the OS temp dir, gone afterwards,
// also after a kill -9 of the tests. It saves nothing unless asked. A shared one may be named by REGROW_TEST_REDIS_URL.

import { chownSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serverAccount, serverFolder } from './account.mjs'
import { certificate } from './certificate.mjs'
import { container } from './container.mjs'
import { find, say } from './finder.mjs'
import { forget } from './guard.mjs'
import { redisNeed, redisVersion } from './needs/redis.mjs'
import { freePort } from './port.mjs'
import { program } from './program.mjs'
import { redisCommand } from './resp.mjs'

const READY_MS = 20_000

/** See index.d.mts. */
export async function startRedis({ settings = {}, args = [], shared = false, tls = false, replicaOf } = {}) {
  const named = process.env.REGROW_TEST_REDIS_URL
  if (shared && named) return namedRedis(named)

  return launchRedis(args, (home, version) => ({
    save: '',
    appendonly: 'no',
    'repl-diskless-sync-delay': 0,
    ...(version >= 7 ? { 'enable-debug-command': 'local' } : {}),
    ...(replicaOf ? { replicaof: `127.0.0.1 ${replicaOf.port}` } : {}),
    ...(tls ? certificate(home) : {}),
    ...settings,
  }))
}

/**
 * Starts the program on a free port with the lines that `settingsFor` makes.
 * @param {string[]} args
 * @param {(home: string, version: number) => Record<string, string | number> | Promise<Record<string, string | number>>} settingsFor
 */
export async function launchRedis(args, settingsFor) {
  const found = await find(redisNeed)
  const version = found.kind === 'docker' ? 7 : redisVersion(found.folder)
  // Between looking for a free port and listening on it another process may take it.
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    const home = serverFolder('redis')
    const settings = await settingsFor(home, version)
    const server = redisServer(made(found, home, port, settings, args), home, port, settings)
    try {
      await server.start()
      say(`redis: pid ${server.pid}, port ${port}, ${home}`)
      return server
    } catch (error) {
      await server.close()
      if (tries === 5 || !/address already in use|port is already allocated/i.test(error.message)) throw error
    }
  }
}

function made(found, home, port, settings, args) {
  const file = join(home, 'redis.conf')
  const dockerDesktop = found.kind === 'docker' && process.platform !== 'linux'
  const listen = isTls(settings) ? { port: 0, 'tls-port': port } : { port }
  // A container's own loopback is out of reach; its port is published on ours alone.
  const reach = dockerDesktop ? { bind: '0.0.0.0', 'protected-mode': 'no' } : { bind: '127.0.0.1' }
  const lines = Object.entries({ ...reach, ...listen, dir: home, ...settings })
  const { uid = process.getuid?.(), gid = process.getgid?.() } = serverAccount()
  writeFileSync(file, lines.map(([name, value]) => `${name} ${value === '' ? '""' : value}\n`).join(''))
  // A sentinel writes what it learns into its own file.
  if (uid !== undefined) chownSync(file, uid, gid)
  const shared = { args: [file, ...args], endSignal: 'SIGKILL' }
  if (found.kind === 'programs')
    return program({ ...shared, command: join(found.folder, 'redis-server'), logFile: join(home, 'server.log') })
  const network = dockerDesktop ? ['--publish', `127.0.0.1:${port}:${port}`] : ['--network', 'host']
  return container({
    ...shared,
    args: ['redis-server', ...shared.args],
    image: found.image,
    options: [...network, '--user', `${uid}:${gid}`, '--volume', `${home}:${home}`],
  })
}

function redisServer(server, home, port, settings) {
  const password = settings.requirepass ? `:${encodeURIComponent(settings.requirepass)}@` : ''
  const scheme = isTls(settings) ? 'rediss' : 'redis'
  const url = (database = 0) => `${scheme}://${password}127.0.0.1:${port}${database === 0 ? '' : `/${database}`}`

  return {
    port,
    dataDir: home,
    caFile: settings['tls-ca-cert-file'],
    get pid() {
      return server.pid
    },
    url,
    command: (...args) => redisCommand(url(), ...args),

    async start() {
      await server.start()
      const end = performance.now() + READY_MS
      while (performance.now() < end && !(await isReady(url(), settings))) {
        if (!(await server.isRunning())) break
        await sleep(10)
      }
      if (!(await server.isRunning()) || performance.now() >= end)
        throw new Error(`Redis did not start on port ${port}:\n${await server.logTail()}`)
    },
    async stop() {
      await server.signal('SIGCONT')
      await server.end('SIGTERM')
    },
    async restart() {
      await this.stop()
      await this.start()
    },
    async kill9() {
      await server.end('SIGKILL')
    },
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    async close() {
      await server.remove()
      rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
      forget('folder', home)
    },
  }
}

const isTls = (settings) => settings['tls-cert-file'] !== undefined

/** Answers, has read its dump, and a replica has all of its master's keys. */
async function isReady(url, settings) {
  try {
    await redisCommand(url, 'PING')
    if (settings.replicaof === undefined) return true
    return /master_link_status:up/.test(await redisCommand(url, 'INFO', 'replication'))
  } catch {
    return false
  }
}

/** A server that somebody else runs: it can be used, not stopped. */
function namedRedis(named) {
  const refuse = async () => {
    throw new Error(
      'This server is named by REGROW_TEST_REDIS_URL and not ours to stop. Use startRedis() without `shared`.',
    )
  }
  const url = (database) => (database === undefined ? named : new URL(`/${database}`, named).href)
  say('redis: the one named by REGROW_TEST_REDIS_URL')
  return {
    port: Number(new URL(named).port || 6379),
    dataDir: undefined,
    caFile: undefined,
    pid: undefined,
    url,
    command: (...args) => redisCommand(named, ...args),
    start: refuse,
    stop: refuse,
    restart: refuse,
    kill9: refuse,
    pause: refuse,
    resume: refuse,
    async close() {},
  }
}
