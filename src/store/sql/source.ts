// The only file that embeds the user's query. Its parameters come first, regrow's own follow.
import type { Job } from '../../job/job.ts'
import type { SqlDatabase } from '../executor.ts'
import type { Source } from '../source.ts'

export function sqlSource(db: SqlDatabase, { name, query }: Job): Source {
  const own = (n: number) => `$${query.values.length + n}`
  // A page is bounded by rows scanned (M37) and filtered inside: live, quarantined and long backed-off keys fall out.
  const page = `
with page as materialized (
  select q.id as key from (
${query.text}
  ) q where ${own(2)}::text is null or q.id > ${own(2)}::text order by q.id limit ${own(3)}::int
),
eligible as (
  select p.key, greatest(coalesce(extract(epoch from l.retry_at - env.at) * 1000, 0), 0) as wait_ms
  from page p cross join (select regrow.clock() as at) env
  left join regrow.ledger l on l.key = p.key and l.job = ${own(1)}::text
  where l.key is null or (l.holder is null and l.state <> 'quarantined'
    and (l.retry_at is null or l.retry_at <= env.at + make_interval(secs => ${own(4)}::float8 / 1000)))
)
select (select count(*) from page)::int as scanned, (select max(key) from page) as last,
  coalesce((select json_agg(json_build_array(key, wait_ms) order by key) from eligible), '[]')::text as rows`

  const check = `
select q.id as key from (
${query.text}
) q where q.id = any (array(select jsonb_array_elements_text(${own(1)}::text::jsonb)))`

  return {
    async page(after, limit, horizonMs) {
      const { rows } = await db.query(page, [...query.values, name, after, limit, horizonMs])
      const answer = rows[0] as { scanned: number; last: string | null; rows: string }
      const eligible = JSON.parse(answer.rows) as [string, number][]
      return { ...answer, rows: eligible.map(([key, waitMs]) => ({ key, waitMs })) }
    },
    async check(keys) {
      const { rows } = await db.query(check, [...query.values, JSON.stringify(keys)])
      return { pending: new Set(rows.map(({ key }) => key as string)) }
    },
  }
}
