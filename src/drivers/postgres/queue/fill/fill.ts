// A page of the store's rows becomes hints inside the server: the sweep hands the page over as a value, and no key travels.
import type { SqlQuery } from '../../../../job/pending.ts'
import type { FillRequest, FillResult } from '../../../../queue/queue.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import { sqlState } from '../../store/errors.ts'
import { queryOf } from '../../store/opaque.ts'
import { statements } from '../statements.gen.ts'

/** `room`: hints that the lane may still take. `looks`: some of them may be there; else all are expected to be new. */
export async function fill(
  db: Pick<SqlDatabase, 'queryWithin'>,
  { job, page, limit, timeoutMs, epoch = null }: FillRequest,
  { room, looks }: { readonly room: number; readonly looks: boolean },
): Promise<FillResult> {
  const query = queryOf(page)
  const values = [...query.values, job, epoch === null ? null : String(epoch), Math.max(0, room), limit]
  const send = (how: Look) => db.queryWithin(timeoutMs, textOf(query, how), values)
  const { rows } = await send(looks ? 'looks' : 'all_new').catch((error: unknown) => {
    // One of them is there after all, or somebody pushes it at this moment: it is quicker without looking for that, but not then.
    if (sqlState(error) === '23505') return send('looks_twice')
    throw error
  })
  return filledOf(rows[0] as Row)
}

/** How a fill treats hints that are there already, and those that somebody pushes at the same moment. */
type Look = 'all_new' | 'looks' | 'looks_twice'

const look = `and (
    select true from regrow.hints h
    where octet_length(h.key) = octet_length(p.key) and h.key = p.key and h.job is not distinct from :1::text
  ) is null`

/** As many as there were rows and room, or none of them. */
const writtenAll = '(select case when env.meant then least(seen.plain, :3::int8) else 0 end from seen cross join env)'

function textOf({ text, values }: SqlQuery, how: Look): string {
  const own = (number: string) => `$${values.length + Number(number)}`
  const [before, after] = statements.fill.fill.split(':page') as [string, string]
  const filled = after
    .replace(':look', how === 'all_new' ? '' : look)
    .replace(
      ':returning',
      how === 'all_new' ? '' : `${how === 'looks_twice' ? 'on conflict do nothing' : ''} returning 1`,
    )
    .replace(':added', how === 'all_new' ? writtenAll : '(select count(*) from put)')
    .replace(/(?<!:):([1234])\b/g, (_, number) => own(number))
  // The page's text is put in last: nothing in it is taken for a place of ours.
  return `${before}${text}${filled}`
}

function filledOf(row: Row): FillResult {
  const facts = JSON.parse((row.rows as string | null) ?? '[]') as [string, string | null, number, boolean][]
  const [scanned, eligible, added, dropped] = ['scanned', 'eligible', 'added', 'dropped'].map((name) =>
    Number(row[name]),
  )
  const meant = row.meant === true
  const plain = (eligible as number) - facts.length
  return {
    scanned: scanned as number,
    last: row.last as string | null,
    oldestMs: row.oldest_ms === null ? null : Math.max(0, Number(row.oldest_ms)),
    eligible: eligible as number,
    ...(Number(row.unusable) > 0 && {
      unusable: { count: Number(row.unusable), key: row.unusable_key as string },
    }),
    rows: facts.map(([key, version, waitMs, renewed]) => ({ key, version, waitMs, renewed })),
    sample: JSON.parse((row.sample as string | null) ?? '[]') as string[],
    pushed: meant
      ? { added: added as number, merged: plain - (added as number) - (dropped as number), dropped: dropped as number }
      : { added: 0, merged: 0, dropped: 0, lost: plain },
  }
}
