// A source of the user's own ({ page, isPending }): its answers are joined with the ledger here instead of in SQL.
import type { Job } from '../../../../job/job.ts'
import { isKeyLength, wrongRowMark } from '../../../../job/key.ts'
import type { CustomPending } from '../../../../job/pending.ts'
import { eligible } from '../../../../store/eligible.ts'
import type { Ledger } from '../../../../store/ledger.ts'
import type { PageRow, PendingKey, Source, UnusableRows } from '../../../../store/source.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import { answerOf, badSource, rowOf, WrongRow, wrongAnswer } from './custom-answers.ts'
import { unusableRows } from './page-encoding.ts'

export function customSource(db: SqlDatabase, ledger: Ledger, job: Job, custom: CustomPending<never>): Source {
  let versioned = false
  const canonical = (row: unknown, nowMs: number): PendingKey => {
    const read = rowOf(job, row, nowMs)
    versioned ||= read.version !== null
    return read
  }
  const now = async () => {
    const { rows } = await db.query(
      `select extract(epoch from regrow.clock())::float8 * 1000 as now_ms, exists (select 1 from regrow.pauses
       where job = $1::text and (until is null or until > (select regrow.clock()))) as paused`,
      [job.name],
    )
    return { nowMs: Number(rows[0]?.now_ms), paused: rows[0]?.paused === true }
  }
  return {
    get versioned() {
      return versioned
    },
    dated: false,
    finishes: null,
    async page(after, limit, horizonMs) {
      const { nowMs } = await now()
      const cursor = after === null ? null : (job.key.decode(after) as never)
      const answered = await answerOf(job, 'page', () => custom.page(cursor, limit))
      const rows = answered.map((row) => readable(() => canonical(row, nowMs)))
      const last = lastKey(job, rows)
      // Where nothing moves, the page would be read for ever.
      if (last !== null && last === after && rows.length >= limit)
        throw badSource(
          job,
          'page',
          `ended with ${JSON.stringify(last).slice(0, 80)} again`,
          'Begin after `after`, in the order of the keys: where key > after order by key.',
        )
      const usable = rows.filter((row): row is PendingKey => 'key' in row && isKeyLength(row.key))
      const known = new Map(
        (
          await ledger.standing(
            job.name,
            usable.map(({ key }) => key),
          )
        ).map((row) => [row.key, row]),
      )
      const found: PageRow[] = []
      const before: number[] = []
      for (const row of rows)
        if (!('key' in row) || !isKeyLength(row.key)) before.push(found.length)
        else {
          const hinted = eligible(row, known.get(row.key), horizonMs)
          if (hinted) found.push(hinted)
        }
      return {
        scanned: rows.length,
        last,
        oldestMs: null,
        rows: found,
        ...(before.length > 0 && { unusable: shownRow(rows, before) }),
      }
    },
    async check(keys) {
      const { nowMs, paused } = await now()
      const rows = (await answerOf(job, 'isPending', () => custom.isPending(keys.map(job.key.decode) as never[]))).map(
        (row) => readable(() => canonical(row, nowMs)),
      )
      const wrong = rows.find((row) => row instanceof WrongRow)
      if (wrong) throw wrongAnswer(job, 'isPending', wrong)
      return { paused, pending: new Map((rows as PendingKey[]).map((row) => [row.key, row])) }
    },
    estimate: async () => null,
  }
}

/** A row, or why it is none. */
type Read = PendingKey | WrongRow

function readable(read: () => PendingKey): Read {
  try {
    return read()
  } catch (error) {
    if (error instanceof WrongRow) return error
    throw error
  }
}

/** The last row that a cursor can stand on. A page in which no row has a key is a mistake of the source, and no row's. */
function lastKey(job: Job, rows: readonly Read[]): string | null {
  const last = rows.findLast((row) => 'key' in row)
  if (last && 'key' in last) return last.key
  const [first] = rows
  if (first instanceof WrongRow) throw wrongAnswer(job, 'page', first)
  return null
}

/** One of the rows that cannot be keys, or what is wrong with it. */
function shownRow(rows: readonly Read[], before: readonly number[]): UnusableRows {
  const one = rows.find((row) => !('key' in row) || !isKeyLength(row.key)) as Read
  if ('key' in one) return unusableRows(one.key, before)
  return { count: before.length, key: `${wrongRowMark}${one.message}`, before }
}
