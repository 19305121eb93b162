// What came of a run, asked of the database and of the workers' own files, in the manner of a total-queue check: every
// expected key had its effect once, nothing else had one, and only poison is in quarantine.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'

export interface Verdict {
  readonly expected: number
  readonly done: number
  readonly lost: string[]
  readonly doubled: string[]
  readonly unexpected: string[]
  readonly quarantined: { job: string; key: string; why: string; poison: boolean }[]
  /** Ledger rows of keys that are done: what a later hint took and a dead worker left. The slow audit removes them. */
  readonly leftovers: number
  readonly claimsLeft: number
  readonly workersLeft: number
}

const named = `array(select x.job || ' ' || x.key from (%) x limit 20) as sample, (select count(*) from (%) x)::int as n`

/** Keys of a query (job, key): how many, and the first of them by name. */
async function keysOf(client: pg.Client, query: string): Promise<string[]> {
  const { rows } = await client.query(`select ${named.replaceAll('%', query)}`)
  const { sample, n } = rows[0] as { sample: string[]; n: number }
  return Array.from({ length: n }, (_, at) => sample[at] ?? '…')
}

const same = `e.job = x.job and e.key = x.key and e.round = x.round`
const seen = `select 1 from effects e where ${same}`

export async function judge(client: pg.Client): Promise<Verdict> {
  const { rows } = await client.query(`
    select (select count(*) from expected)::int as expected,
      (select count(*) from expected x where exists (${seen}))::int as done,
      (select count(*) from regrow.ledger where holder is null and state <> 'quarantined')::int as leftovers,
      (select count(*) from regrow.ledger where holder is not null)::int as claims,
      (select count(*) from regrow.workers)::int as workers`)
  const quarantined = await client.query(
    `select job, key, coalesce(error, '') as why, key like '-%' as poison from regrow.ledger where state = 'quarantined' order by job, key`,
  )
  return {
    expected: rows[0].expected,
    done: rows[0].done,
    lost: await keysOf(client, `select x.job, x.key from expected x where not exists (${seen})`),
    doubled: await keysOf(client, `select job, key from effects group by job, key, round having count(*) > 1`),
    unexpected: await keysOf(
      client,
      `select e.job, e.key from effects e where not exists (select 1 from expected x where ${same})`,
    ),
    quarantined: quarantined.rows,
    leftovers: rows[0].leftovers,
    claimsLeft: rows[0].claims,
    workersLeft: rows[0].workers,
  }
}

export interface Notes {
  /** Keys that were started, poison apart. */
  starts: number
  poisonStarts: Map<string, number>
  freedWorkers: number
  freedKeys: number
  leaseLost: number
  gone: number
  /** Rounds of loops that failed, by loop and message. */
  readonly failed: Map<string, number>
}

/** Everything that all workers wrote down, also those that were killed. */
export function readNotes(folder: string): Notes {
  const notes: Notes = {
    starts: 0,
    poisonStarts: new Map(),
    freedWorkers: 0,
    freedKeys: 0,
    leaseLost: 0,
    gone: 0,
    failed: new Map(),
  }
  for (const file of readdirSync(folder))
    for (const line of readFileSync(join(folder, file), 'utf8').split('\n')) read(notes, line)
  return notes
}

function read(notes: Notes, line: string): void {
  const [word, first = '', ...rest] = line.split(' ')
  const add = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1)
  if (word === 'start')
    for (const key of (rest[0] ?? '').split(','))
      if (key.startsWith('-')) add(notes.poisonStarts, `${first} ${key}`)
      else notes.starts++
  else if (word === 'freed') {
    notes.freedWorkers += Number(first)
    notes.freedKeys += Number(rest[0])
  } else if (word === 'lost') notes.leaseLost++
  else if (word === 'gone') notes.gone++
  else if (word === 'failed' || word === 'stalled') add(notes.failed, [word, first, ...rest].join(' '))
}
