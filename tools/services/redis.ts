// A Redis server for one test run: random port of 127.0.0.1, data in the OS temp dir, removed afterwards, also after a
// kill -9 of the tests. It saves nothing unless `settings` say so. REGROW_TEST_REDIS_URL may name a shared server instead.

import { chownSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCertificate } from './certificate.ts'
import { dockerContainer } from './docker-container.ts'
import { freePort } from './free-port.ts'
import { localProcess } from './local-process.ts'
import { log } from './log.ts'
import type { Provision } from './provision.ts'
import { type RedisReply, redisCommand } from './redis-client.ts'
import { provisionServer } from './requirements/index.ts'
import { redisVersion } from './requirements/redis.ts'
import type { ServerProcess } from './server-process.ts'
import { release } from './supervisor.ts'
import { serverFolder, unprivilegedUser } from './unprivileged-user.ts'

const READY_MS = 20_000

export type RedisSettings = Record<string, string | number>

export interface RedisOptions {
  /** Lines of redis.conf, such as `{ maxmemory: '3mb' }`. Nothing is saved unless `save` says so. */
  settings?: RedisSettings
  /** Further arguments of redis-server. */
  args?: string[]
  /** True lets REGROW_TEST_REDIS_URL name a server instead, which then cannot be stopped. Defaults to false. */
  shared?: boolean
  /** True: it speaks only TLS, with a self-signed certificate (`caFile`). Needs openssl. Defaults to false. */
  tls?: boolean
  /** The master whose replica it is; it has all of its keys when it is ready. Defaults to none. */
  replicaOf?: { readonly port: number }
}

export interface RedisServer {
  readonly port: number
  /** Undefined for a server that is named by the environment. Changes with a restart. */
  readonly pid: number | undefined
  /** Where it saves `dump.rdb`. */
  readonly dataDir: string | undefined
  /** The certificate to trust, when it speaks TLS. */
  readonly caFile: string | undefined
  /** Connection string. The database defaults to 0. */
  url(database?: number): string
  /** One command, over a connection that only it uses; an error reply is thrown. */
  command(...args: (string | number)[]): Promise<RedisReply>
  /** Starts a stopped or killed server on the same port and data. */
  start(): Promise<void>
  /** SIGTERM: it saves what `settings` made it save. */
  stop(): Promise<void>
  restart(): Promise<void>
  kill9(): Promise<void>
  /** SIGSTOP: connections stay open, and nothing answers. */
  pause(): Promise<void>
  /** SIGCONT. */
  resume(): Promise<void>
  /** Ends the server and removes its data. */
  close(): Promise<void>
}

/** Starts a Redis server. It ends with this process, however that ends. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { settings = {}, args = [], shared = false, tls = false, replicaOf } = options
  const named = process.env.REGROW_TEST_REDIS_URL
  if (shared && named) return namedRedis(named)

  return launchRedis(args, async (home, version) => ({
    save: '',
    appendonly: 'no',
    'repl-diskless-sync-delay': 0,
    ...(version >= 7 ? { 'enable-debug-command': 'local' } : {}),
    ...(replicaOf ? { replicaof: `127.0.0.1 ${replicaOf.port}` } : {}),
    ...(tls ? makeCertificate(home) : {}),
    ...settings,
  }))
}

/** Starts redis-server on a free port with the lines of redis.conf that `settingsFor` makes. */
export async function launchRedis(
  args: string[],
  settingsFor: (home: string, version: number) => Promise<RedisSettings>,
): Promise<RedisServer> {
  const found = await provisionServer('redis')
  const version = found.kind === 'docker' ? 7 : redisVersion(found.folder)
  // Another process may take the port between the look for a free one and the start of the server.
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    const home = serverFolder('redis')
    const settings = await settingsFor(home, version)
    const server = redisServer(prepare(found, home, port, settings, args), home, port, settings)
    try {
      await server.start()
      log(`redis: pid ${server.pid}, port ${port}, ${home}`)
      return server
    } catch (error) {
      await server.close()
      if (tries === 5 || !/address already in use|port is already allocated/i.test((error as Error).message))
        throw error
    }
  }
}

function prepare(found: Provision, home: string, port: number, settings: RedisSettings, args: string[]): ServerProcess {
  const file = join(home, 'redis.conf')
  const dockerDesktop = found.kind === 'docker' && process.platform !== 'linux'
  const listen = isTls(settings) ? { port: 0, 'tls-port': port } : { port }
  // A container's own loopback is out of reach; its port is published on the host's alone.
  const reach = dockerDesktop ? { bind: '0.0.0.0', 'protected-mode': 'no' } : { bind: '127.0.0.1' }
  const lines = Object.entries<string | number>({ ...reach, ...listen, dir: home, ...settings })
  const { uid = process.getuid?.(), gid = process.getgid?.() } = unprivilegedUser()
  writeFileSync(file, lines.map(([name, value]) => `${name} ${value === '' ? '""' : value}\n`).join(''))
  // A sentinel writes what it learns into its own file.
  if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
  const stopSignal = 'SIGKILL'
  if (found.kind === 'binaries')
    return localProcess({
      command: join(found.folder, 'redis-server'),
      args: [file, ...args],
      logFile: join(home, 'server.log'),
      stopSignal,
    })
  const network = dockerDesktop ? ['--publish', `127.0.0.1:${port}:${port}`] : ['--network', 'host']
  return dockerContainer({
    image: found.image,
    options: [...network, '--user', `${uid}:${gid}`, '--volume', `${home}:${home}`],
    args: ['redis-server', file, ...args],
    stopSignal,
  })
}

function redisServer(server: ServerProcess, home: string, port: number, settings: RedisSettings): RedisServer {
  const password = settings.requirepass ? `:${encodeURIComponent(settings.requirepass)}@` : ''
  const scheme = isTls(settings) ? 'rediss' : 'redis'
  const url = (database = 0) => `${scheme}://${password}127.0.0.1:${port}${database === 0 ? '' : `/${database}`}`
  const caFile = settings['tls-ca-cert-file']

  return {
    port,
    dataDir: home,
    caFile: caFile === undefined ? undefined : String(caFile),
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
      await server.stop('SIGTERM')
    },
    async restart() {
      await this.stop()
      await this.start()
    },
    async kill9() {
      await server.stop('SIGKILL')
    },
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    async close() {
      await server.remove()
      rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
      release('folder', home)
    },
  }
}

const isTls = (settings: RedisSettings) => settings['tls-cert-file'] !== undefined

/** Answers, has read its dump, and a replica has all of its master's keys. */
async function isReady(url: string, settings: RedisSettings): Promise<boolean> {
  try {
    await redisCommand(url, 'PING')
    if (settings.replicaof === undefined) return true
    return /master_link_status:up/.test(String(await redisCommand(url, 'INFO', 'replication')))
  } catch {
    return false
  }
}

/** A server that REGROW_TEST_REDIS_URL names: tests can use it, and cannot stop it. */
function namedRedis(named: string): RedisServer {
  const refuse = async () => {
    throw new Error(
      'REGROW_TEST_REDIS_URL names this server, so tests cannot stop it. Use startRedis() without `shared`.',
    )
  }
  log('redis: the one named by REGROW_TEST_REDIS_URL')
  return {
    port: Number(new URL(named).port || 6379),
    dataDir: undefined,
    caFile: undefined,
    pid: undefined,
    url: (database) => (database === undefined ? named : new URL(`/${database}`, named).href),
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
