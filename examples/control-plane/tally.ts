// What the database says: every piece of work that was promised, and what became of it. Read for the screen, and at the
// end for the verdict. Nothing here asks the queue.

/** Counts of one job. `waiting`: promised, and neither done, nor running, nor quarantined. */
export interface JobTally {
  readonly job: string
  readonly rows: number
  readonly done: number
  readonly running: number
  readonly waiting: number
  readonly quarantined: number
  /** Effects that were written more than once. */
  readonly doubled: number
}

export type Query = (text: string, params?: string[]) => Promise<{ rows: Record<string, unknown>[] }>

/** Each database is one database to create and one e-mail to send, each backup policy one backup to make. */
const statement = `
with work as (
  select 'demo.database.create' as job, id::text as key from regrow_demo.databases
  union all select 'demo.email.welcome', id::text from regrow_demo.databases
  union all select 'demo.backup.run', id::text from regrow_demo.backup_policies
),
effects as (
  select job, key, count(*) as times from regrow_demo.audit_log group by job, key
)
select w.job, count(*)::int as rows, count(e.key)::int as done,
  count(*) filter (where e.key is null and l.state = 'running')::int as running,
  count(*) filter (where e.key is null and l.state = 'quarantined')::int as quarantined,
  count(*) filter (where e.key is null and (l.state is null or l.state = 'retrying'))::int as waiting,
  coalesce(sum(e.times - 1), 0)::int as doubled
from work w
left join effects e on e.job = w.job and e.key = w.key
left join regrow.ledger l on l.job = w.job and l.key = w.key
group by w.job order by w.job`

export async function readTally(query: Query): Promise<JobTally[]> {
  return (await query(statement)).rows as unknown as JobTally[]
}

export function total(tally: readonly JobTally[], column: Exclude<keyof JobTally, 'job'>): number {
  return tally.reduce((sum, each) => sum + each[column], 0)
}
