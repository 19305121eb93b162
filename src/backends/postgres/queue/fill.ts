// A page of the store's rows becomes hints inside the server: the sweep hands the page over as a value, and no key travels.
import type { SqlQuery } from '../../../job/pending.ts'
import type { Filled, FillRequest } from '../../../queue/queue.ts'
import { type Row, type SqlDatabase, sqlState } from '../../../store/executor.ts'
import { statements } from './statements.gen.ts'

/** `room`: hints that the lane may still take. */
export async function fill(
  db: Pick<SqlDatabase, 'queryWithin'>,
  { job, page, timeoutMs, epoch = null }: FillRequest,
  room: number,
): Promise<Filled> {
  const values = [...page.values, job, epoch === null ? null : String(epoch), Math.max(0, room)]
  const send = (conflict: string) => db.queryWithin(timeoutMs, textOf(page, conflict), values)
  const { rows } = await send('').catch((error: unknown) => {
    // Somebody pushes one of these keys at this moment: this is quicker without looking for that, but not then.
    if (sqlState(error) === '23505') return send('on conflict do nothing')
    throw error
  })
  return filledOf(rows[0] as Row)
}

function textOf({ text, values }: SqlQuery, conflict: string): string {
  const own = (number: string) => `$${values.length + Number(number)}`
  const [before, after] = statements.fill.split(':page') as [string, string]
  // The page's text is put in last: nothing in it is taken for a place of ours.
  return `${before}${text}${after.replace(':conflict', conflict).replace(/(?<!:):([123])\b/g, (_, number) => own(number))}`
}

function filledOf(row: Row): Filled {
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
    rows: facts.map(([key, version, waitMs, renewed]) => ({ key, version, waitMs, renewed })),
    sample: JSON.parse((row.sample as string | null) ?? '[]') as string[],
    pushed: meant
      ? { added: added as number, merged: plain - (added as number) - (dropped as number), dropped: dropped as number }
      : { added: 0, merged: 0, dropped: 0, lost: plain },
  }
}
