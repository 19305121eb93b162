// The demo on a Postgres of yours: the queue is the UNLOGGED table regrow.hints, or a Redis of yours; each worker is a
// process, and a killed one is killed with kill -9. What the demo made is removed at the end.

import { type ChildProcess, fork } from 'node:child_process'
import pg from 'pg'
import { regrow } from 'regrow'
import { operate } from 'regrow/operate'
import { postgres } from 'regrow/postgres'
import { type DemoQueue, identity, lease, type Place, type WorkerNews } from './place.ts'

/** The queue in Redis, and what a worker process needs to open it. */
export interface OnRedis extends DemoQueue {
  readonly url: string
  readonly namespace: string
}

export async function onPostgres(url: string, onRedis?: OnRedis): Promise<Place> {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => {})
  const { rows } = await pool.query(
    `select to_regnamespace('regrow') is null as first, to_regnamespace('regrow_demo') is not null as taken`,
  )
  if (rows[0].taken)
    throw new Error(
      'The schema regrow_demo exists: another demo runs on this database, or one was killed.\n' +
        'When none is running: drop schema regrow_demo cascade',
    )
  const app = regrow({
    store: postgres(url),
    lease,
    log: false,
    migrate: true,
    ...(onRedis && { queue: onRedis.driver }),
  })
  await operate(app).migrate()
  await operate(app).queue()
  const { hints, wipe } = onRedis ?? hintsTable(pool)
  const children = new Set<ChildProcess>()
  const redisEnv = onRedis && { REGROW_DEMO_REDIS: onRedis.url, REGROW_DEMO_NAMESPACE: onRedis.namespace }
  const env = { ...process.env, REGROW_DEMO_URL: url, ...redisEnv }
  return {
    app,
    remarks: [
      onRedis
        ? `The queue is in Redis, namespace ${onRedis.namespace}. Workers are processes,`
        : 'The queue is the table regrow.hints, wiped with DELETE. Workers are processes,',
      'killed with kill -9. Everything the demo makes is removed when it ends.',
    ],
    query: (text, params) => pool.query(text, params),
    async startWorker(tell) {
      const child = fork(new URL('./worker.ts', import.meta.url), { env })
      children.add(child)
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve(void children.delete(child))))
      await new Promise<void>((resolve, reject) => {
        child.once('exit', (code) => reject(new Error(`a worker process ended with code ${code} before it was ready`)))
        child.on('message', (message: WorkerNews | 'ready') => (message === 'ready' ? resolve() : tell(message)))
      })
      return {
        killing: `kill -9 ${child.pid}`,
        kill: () => void child.kill('SIGKILL'),
        ended,
        stop() {
          if (child.connected) child.disconnect()
          return ended
        },
      }
    },
    hints,
    wipe,
    async close() {
      for (const child of children) child.kill('SIGKILL')
      await app.close()
      await onRedis?.close()
      for (const statement of rows[0].first ? ['drop schema regrow cascade'] : ours) await pool.query(statement)
      await pool.query('drop schema if exists regrow_demo cascade')
      await pool.end()
    },
  }
}

const hintsTable = (pool: pg.Pool): Pick<Place, 'hints' | 'wipe'> => ({
  async hints() {
    const { rows } = await pool.query(`select count(*)::int as hints from regrow.hints where job like 'demo.%'`)
    return rows[0].hints
  },
  async wipe() {
    const { rows } = await pool.query(`delete from regrow.hints where job like 'demo.%' returning job, key`)
    return rows.map(identity)
  },
})

/** What the demo leaves in regrow's tables, where they were there before it. */
const ours = ['ledger', 'intents', 'hints', 'sweeps'].map(
  (table) => `delete from regrow.${table} where job like 'demo.%'`,
)
