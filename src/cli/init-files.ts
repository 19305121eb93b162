// The files that `regrow init` writes. In TypeScript they compile with what `tsc --init` writes, which knows no types of Node and no imports
// of `.ts` files; in JavaScript they are the same without these lines.

/** What the files depend on. */
export interface InitChoice {
  readonly store: 'pglite' | 'postgres'
  /** `store`: the store's own. */
  readonly queue: 'store' | 'redis'
  /** Of the queue in Redis. */
  readonly namespace: string
  /** Of the modules: `ts`, `mts` or `mjs`. */
  readonly extension: string
}

/** Paths inside the project, and contents. */
export function initFiles(choice: InitChoice): Record<string, string> {
  return {
    [`regrow/app.${choice.extension}`]: appModule(choice),
    [`regrow/worker.${choice.extension}`]: workerModule(choice),
    ...(choice.store === 'pglite' ? { 'regrow/.gitignore': 'data/\ndata.lock\n' } : {}),
  }
}

const stores = {
  pglite: { import: `import { pglite } from 'regrow/pglite'`, make: `pglite('regrow/data')` },
  postgres: { import: `import { postgres } from 'regrow/postgres'`, make: `postgres(process.env.DATABASE_URL)` },
}

const queues = {
  store: () => ({ import: '', option: '' }),
  redis: (namespace: string) => ({
    import: `\nimport { redis } from 'regrow/redis'`,
    option: `, queue: redis(process.env.REDIS_URL, { namespace: '${namespace}' })`,
  }),
}

/** By what name one module imports another: a `.ts` file by that of the `.js` file that it becomes. */
const imported = (extension: string) => extension.replace('ts', 'js')

/** Node's `process`, for compilers that do not know it. */
const nodeProcess = (extension: string, members: string) =>
  extension.endsWith('ts')
    ? `
// With the types of Node (npm install -D @types/node, and "node" among the \`types\` of tsconfig.json) this can go.
declare const process: { ${members} }
`
    : ''

const appModule = ({
  store,
  queue,
  namespace,
  extension,
}: InitChoice) => `// The jobs of this project. Any process may import this file: nothing is opened before it is used.
import { regrow, sql } from 'regrow'
${stores[store].import}${queues[queue](namespace).import}
${store === 'postgres' || queue === 'redis' ? nodeProcess(extension, 'env: Record<string, string | undefined>') : ''}
export const app = regrow({ store: ${stores[store].make}${queues[queue](namespace).option} })

/** An example: signups that were not welcomed yet. Replace table and query with your own. */
export const welcome = app.job('signup.welcome', {
  key: 'bigint',
  // What work is there? Whatever becomes of the queue, these rows run.
  pending: sql\`select id from signups where welcomed_at is null\`,
  async run(id, ctx) {
    ctx.log.info('welcome')
    // The change and the end of the run commit together.
    await ctx.tx((tx) => tx.query('update signups set welcomed_at = now() where id = $1', [id]))
  },
})
`

const workerModule = ({
  extension,
}: InitChoice) => `// An example of a worker as a program of its own. \`npx regrow work\` does the same for all jobs of the app.
import { app, welcome } from './app.${imported(extension)}'
${nodeProcess(extension, 'once(signal: string, listener: () => void): unknown')}
// Only for the example: a table, and a row that asks for work. Your own tables come from your own migrations.
await app.transaction(async (tx) => {
  await tx.query(
    'create table if not exists signups (id bigint generated always as identity primary key, email text not null, welcomed_at timestamptz)',
  )
  const { rows } = await tx.query('insert into signups (email) values ($1) returning id', ['ann@example.org'])
  // For speed. Without this line it runs, too: at the next sweep.
  await welcome.enqueue(String(rows[0]?.id), { tx })
})

const worker = app.work({ concurrency: 10 })
await worker.ready
console.log('working; Ctrl-C ends it')

const stop = async () => {
  await worker.stop()
  await app.close()
}
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
`
