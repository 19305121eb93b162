// The world of `npm run chaos -- hostile`: a Postgres behind a proxy that can fall silent, a Redis, two workers with different roles and leases, and
// an ear for everything that health, doctor, why and the events say.

import pg from 'pg'
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { redis } from '../../../src/drivers/redis/index.ts'
import { type App, regrow, type WorkerHandle } from '../../../src/index.ts'
import { operate } from '../../../src/operate/index.ts'
import { startPostgres, startRedis } from '../../../tools/services/index.ts'
import { startProxy } from '../../services/proxy.ts'
import { declareHostile, hostileTables } from './jobs.ts'

export const namespace = 'hostile'
/** Milliseconds. Alice's worker beats for another lease than bob's. */
export const leases = { alice: 9_000, bob: 3_000 }

export type HostileWorld = Awaited<ReturnType<typeof openHostileWorld>>

export async function openHostileWorld() {
  const server = await startPostgres({
    settings: { max_connections: 200, shared_buffers: '256MB', fsync: false, full_page_writes: false },
  })
  const queue = await startRedis()
  const proxy = await startProxy(server.port)
  const adminUrl = await server.createDatabase('hostile')
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  await admin.query(hostileTables)
  const migrator = regrow({ store: postgres(adminUrl), log: false })
  await operate(migrator).migrate()
  await migrator.close()
  const passwords = { alice: 'first', bob: 'first' }
  for (const [role, settings] of [
    ['alice', { TimeZone: 'America/New_York', DateStyle: 'German, DMY', statement_timeout: '2s' }],
    ['bob', { TimeZone: 'Asia/Kathmandu', DateStyle: 'SQL, MDY', IntervalStyle: 'sql_standard' }],
  ] as const) {
    await admin.query(`create role ${role} login superuser password '${passwords[role]}'`)
    for (const [name, value] of Object.entries(settings))
      await admin.query(`alter role ${role} set ${name} = ${value.includes(',') ? value : `'${value}'`}`)
  }
  const url = (role: 'alice' | 'bob') => {
    const made = new URL(adminUrl)
    made.username = role
    made.password = passwords[role]
    made.port = String(proxy.port)
    return made.href
  }
  const open = (role: 'alice' | 'bob', leaseMs: number) => {
    const app = regrow({
      store: postgres(() => url(role)),
      queue: redis(queue.url(), { namespace }),
      lease: leaseMs,
      log: false,
    }) as unknown as App
    return { app, mail: declareHostile(app) }
  }
  const [alice, bob] = [open('alice', leases.alice), open('bob', leases.bob)]
  const apps = { alice: alice.app, bob: bob.app }
  const workers: WorkerHandle[] = []
  return {
    ...{ server, queue, proxy, admin, adminUrl, apps, workers, passwords, mail: bob.mail },
    /** Another session of a person. */
    async session(): Promise<pg.Client> {
      const session = new pg.Client({ connectionString: adminUrl })
      session.on('error', () => {})
      await session.connect()
      return session
    },
    async close(): Promise<void> {
      for (const app of Object.values(apps)) await app.close()
      await admin.end()
      await proxy.close()
      await queue.close()
      await server.close()
    },
  }
}

/** What was ever said: `health key_unusable key.long`, `why quarantined answer.odd nan`, `event worker.freed`. */
export class Said {
  readonly #times = new Map<string, { first: number; count: number; text: string }>()
  readonly #began = performance.now()

  add(line: string, text = ''): void {
    const known = this.#times.get(line)
    if (known) known.count++
    else this.#times.set(line, { first: performance.now() - this.#began, count: 1, text })
  }

  count(line: string): number {
    return this.#times.get(line)?.count ?? 0
  }

  all(): string[] {
    const told = [...this.#times].filter(([line]) => !/^(started|settled) /.test(line))
    return told.map(
      ([line, { first, count, text }]) =>
        `${(first / 1_000).toFixed(1).padStart(6)} s ${String(count).padStart(6)}x ${line}  ${text.slice(0, 140)}`,
    )
  }
}

/** Asks health each second, the doctor and why each few seconds, until `signal` aborts. */
export async function listen(
  world: HostileWorld,
  said: Said,
  keys: () => Promise<[string, string][]>,
  signal: AbortSignal,
) {
  for (const app of Object.values(world.apps)) {
    app.on('*', (_, event) => said.add(`event ${event}`))
    app.on('job.started', ({ job, key }) => said.add(`started ${job} ${key.slice(0, 12)}`))
    app.on('job.settled', ({ job, key, state }) => said.add(`settled ${state} ${job} ${key.slice(0, 12)}`))
  }
  const asks = async (everyMs: number, ask: () => Promise<void>) => {
    while (!signal.aborted) {
      await ask().catch((error: Error) => said.add(`unanswered`, error.message))
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
  }
  const { alice, bob } = world.apps
  const found = (who: string) => (each: { code: string; job: string | null; message: string }) =>
    said.add(`${who} ${each.code}${each.job === null ? '' : ` ${each.job}`}`, each.message)
  await Promise.all([
    asks(1_000, async () => (await operate(bob).health()).findings.forEach(found('health'))),
    asks(5_000, async () => (await operate(alice).doctor()).findings.forEach(found('doctor'))),
    asks(5_000, async () => {
      for (const [job, key] of await keys()) {
        const { reason, sentence } = await operate(bob).why(job, key)
        said.add(`why ${reason} ${job} ${key.slice(0, 12)}`, sentence)
      }
    }),
  ])
}
