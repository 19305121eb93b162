// What a sweep costs: one that finds nothing in a table of ten million rows, and one of a million pending rows behind a queue
// that is full. Counted are the statements that the process of a worker sends for it; rows and blocks are the server's.
import pg from 'pg'
import { regrow, sql } from 'regrow'
import { postgres } from 'regrow/postgres'

export interface SweepResult {
  readonly id: string
  /** Rows of the table, how many of them are pending, and how many hints the queue keeps. */
  readonly rows: number
  readonly pending: number
  readonly maxHints: number
  /** Hints in the queue during the turns. */
  readonly hints: number
  readonly turns: number
  /** Means per turn, from here on. Statements by what they are for; a page comes in a transaction of its own. */
  readonly statements: Readonly<Record<string, number>>
  /** Rows that its pages scanned. */
  readonly scanned: number
  /** Rows that page and push read in table, ledger and queue, and blocks of 8 KiB that they touched, by EXPLAIN. */
  readonly rowsRead: number
  readonly blocks: number
  readonly ms: number
  /** From one turn to the next. */
  readonly everyMs: number
}

type Scene = Pick<SweepResult, 'id' | 'rows' | 'pending' | 'maxHints' | 'turns'>

interface Sent {
  readonly kind: string
  readonly text: string
  readonly values: unknown[]
}

interface Passed {
  readonly seen: number
  readonly pushed: number
  readonly tookMs: number
  readonly at: number
  readonly sent: readonly Sent[]
}

/** What a statement of the sweep is for; those of other loops are nothing here. */
const kinds: readonly [string, RegExp][] = [
  ['push', /insert into regrow\.hints/],
  ['page', /row_number\(\) over/],
  ['turn', /term = s\.term \+ 1/],
  ['end', /last_success_at = case/],
  ['advance', /update regrow\.sweeps.* set cursor/],
  ['estimate', /^explain/],
  ['look again', /from \(select exists \(select 1 from regrow\.pauses|from regrow\.ledger l where l\.job = \$1/],
  ['pauses', /^select p\.job, p\.reason/],
  ['begin, limit, commit', /^(begin|set local|commit)/i],
]

const patienceMs = 120_000

/** Builds the table, lets a worker that runs nothing sweep until the queue is as full as it gets, then counts `turns`. */
export async function sweep(url: string, scene: Scene): Promise<SweepResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await build(client, scene)
  const { sent, restore } = listen()
  const app = regrow({ store: postgres(url, { maxHints: scene.maxHints }) })
  const job = app.job('bench.sweep', {
    key: 'bigint',
    pending: sql`select id from rows where state = 'pending'`,
    // Shorter than the default, so that idle turns come soon; a full queue has its own pace.
    sweep: { every: '1s' },
  })
  const passed: Passed[] = []
  let settledAt = 0
  const counted = new Promise<void>((resolve, reject) => {
    const late = setTimeout(reject, patienceMs, new Error(`no ${scene.turns} turns in ${patienceMs} ms`))
    app.on('sweep.passed', ({ seen, pushed, tookMs }) => {
      passed.push({ seen, pushed, tookMs, at: performance.now(), sent: sent.splice(0) })
      // Two turns without a push: the queue is full, or there is nothing; what a first turn learns is learnt.
      if (settledAt === 0 && passed.slice(-2).every((each) => each.pushed === 0) && passed.length > 2)
        settledAt = passed.length
      if (settledAt === 0 || passed.length < settledAt + scene.turns) return
      clearTimeout(late)
      resolve()
    })
  })
  // Its one slot is taken by a run that does not end before the stop: the queue stays as it is.
  const held = job.handle(
    (_, ctx) => new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
  )
  const worker = app.work({ handlers: [held], concurrency: 1 })
  await counted
  const hints = Number((await client.query('select count(*) as n from regrow.hints')).rows[0].n)
  const cost = await explained(client, passed.at(-1) as Passed)
  await worker.stop({ grace: 0 })
  await app.close()
  restore()
  await client.end()
  return { ...scene, hints, ...cost, ...means(passed.slice(-scene.turns)) }
}

/** Unlogged and indexed at the end: ten million rows in seconds. */
async function build(client: pg.Client, { rows, pending }: Scene): Promise<void> {
  await client.query(`
    create unlogged table rows (id bigint not null, state text not null);
    insert into rows select n, case when n > ${rows - pending} then 'pending' else 'done' end from generate_series(1, ${rows}) n;
    create index rows_pending on rows (id) where state = 'pending';`)
  await client.query('vacuum (analyze) rows')
}

/** Hears every statement that this process sends through pg. */
function listen() {
  const sent: Sent[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first, values] = args as [string | { text: string; values?: unknown[] }, unknown]
    const text = (typeof first === 'string' ? first : first.text).trim()
    const kind = kinds.find(([, pattern]) => pattern.test(text))?.[0]
    if (kind) sent.push({ kind, text, values: Array.isArray(values) ? values : [] })
    return (query as (...all: unknown[]) => unknown).apply(this, args)
  } as typeof query
  const restore = () => {
    pg.Client.prototype.query = query
  }
  return { sent, restore }
}

function means(passed: readonly Passed[]) {
  const mean = (of: (each: Passed) => number) => passed.reduce((sum, each) => sum + of(each), 0) / passed.length
  const used = kinds.map(
    ([kind]) => [kind, mean(({ sent }) => sent.filter((each) => each.kind === kind).length)] as const,
  )
  return {
    statements: Object.fromEntries(used.filter(([, count]) => count > 0)),
    scanned: mean(({ seen }) => seen),
    ms: mean(({ tookMs }) => tookMs),
    everyMs: ((passed.at(-1)?.at ?? 0) - (passed[0]?.at ?? 0)) / Math.max(1, passed.length - 1),
  }
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

/** What pages and pushes of a turn read, by running them once more and undoing it. */
async function explained(client: pg.Client, { sent }: Passed): Promise<{ rowsRead: number; blocks: number }> {
  const cost = { rowsRead: 0, blocks: 0 }
  for (const { text, values } of sent.filter(({ kind }) => kind === 'page' || kind === 'push')) {
    await client.query('begin')
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values)
    await client.query('rollback')
    const plan = rows[0]['QUERY PLAN'][0].Plan as Plan
    cost.rowsRead += rowsRead(plan)
    cost.blocks += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  }
  return cost
}

/** Rows that scans of tables and indexes returned or threw away. */
function rowsRead(plan: Plan): number {
  const own = /Scan$/.test(plan['Node Type']) && plan['Relation Name'] !== undefined
  const each = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)
  return (own ? each * plan['Actual Loops'] : 0) + (plan.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), 0)
}
