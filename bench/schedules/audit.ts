// What an audit of many schedules costs: the first one, which makes every slot; one that finds all in order; and one after every
// hint was lost. Counted are the statements that the process of a worker sends for it.

import pg from 'pg'
import { regrow } from 'regrow'
import { operate } from 'regrow/operate'
import { postgres } from 'regrow/postgres'
import { z } from 'zod'

export interface AuditResult {
  readonly id: 'first' | 'in order' | 'hints lost'
  readonly schedules: number
  /** Statements by what they are for. */
  readonly statements: Readonly<Record<string, number>>
  /** Rows of slots that were made, and hints that were pushed. */
  readonly slots: number
  readonly hints: number
  readonly ms: number
}

/** What a statement of an audit is for; those of other loops are nothing here. */
const kinds: readonly [string, RegExp][] = [
  ['turn', /update regrow\.pulse p set audit_at/],
  ['page', /chosen as materialized/],
  ['write', /insert into regrow\.slots as t/],
  ['push', /insert into regrow\.hints/],
  ['tidy', /end_reason = 'absent'/],
]

const patienceMs = 120_000

/** Once a day, at run time: what a product has one of per customer. */
const daily = `
  insert into regrow.schedules (name, job, lane, cron, tz, missed, overlap, jitter_ms, input, declared, from_at, created_at, seen_at)
  select 'digest.' || lpad(n::text, 6, '0'), 'digest.send', 'regrow.slots', (n % 60) || ' ' || (n % 24) || ' * * *', 'Europe/Berlin', 'once', 'skip',
    0, '{}', false, now(), now(), now() from generate_series(1, $1::int) n`

/** Every slot is due in half a minute, and no hint is left. */
const lose = [
  `update regrow.slots set due_at = now() + interval '30 s' where state = 'waiting'`,
  'truncate regrow.hints',
]

/** Audits of so many schedules in an empty database, one after the other, each by a worker of its own. */
export async function audits(url: string, count: number): Promise<AuditResult[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const app = regrow({ store: postgres(url), migrate: true })
  await operate(app).migrate()
  await app.close()
  await client.query(daily, [count])
  await client.query('vacuum (analyze) regrow.schedules')
  const first = await audit(url, 'first')
  await client.query('vacuum (analyze) regrow.slots')
  const inOrder = await audit(url, 'in order')
  for (const text of lose) await client.query(text)
  const hintsLost = await audit(url, 'hints lost')
  await client.end()
  return [first, inOrder, hintsLost]
}

/** A worker begins with an audit, whosever turn it is. */
async function audit(url: string, id: AuditResult['id']): Promise<AuditResult> {
  const { sent, restore } = listen()
  const app = regrow({ store: postgres(url), migrate: false })
  const digest = app.job('digest.send', { input: z.object({}) })
  const audited = new Promise<{ processed: number; created: number; orphans: number; tookMs: number }>(
    (resolve, reject) => {
      const late = setTimeout(reject, patienceMs, new Error(`no audit in ${patienceMs} ms`))
      app.on('schedules.audited', (report) => {
        clearTimeout(late)
        resolve(report)
      })
    },
  )
  const worker = app.work({ handlers: [digest.handle(() => {})] })
  const { processed, created, orphans, tookMs } = await audited
  restore()
  await worker.stop({ grace: 0 })
  await app.close()
  const statements = Object.fromEntries(
    kinds
      .map(([kind]) => [kind, sent.filter((each) => each === kind).length] as const)
      .filter(([, times]) => times > 0),
  )
  return { id, schedules: processed, statements, slots: created, hints: created + orphans, ms: tookMs }
}

/** Hears every statement of an audit that this process sends through pg. */
function listen() {
  const sent: string[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first] = args as [string | { text: string }]
    const text = typeof first === 'string' ? first : first.text
    const kind = kinds.find(([, pattern]) => pattern.test(text))?.[0]
    if (kind) sent.push(kind)
    return (query as (...all: unknown[]) => unknown).apply(this, args)
  } as typeof query
  const restore = () => {
    pg.Client.prototype.query = query
  }
  return { sent, restore }
}
