// The ledger in SQL. Each verb is one statement for a batch of keys; takes and settles have several forms, and this file chooses.
import { messageOf } from '../../../../base/errors.ts'
import { Optimism } from '../../../../base/optimism.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import { nothingRemembered } from '../../../../store/claim.ts'
import type { Claim, Ledger, OneTripClaims, SettleRow, TakeAnswer } from '../../../../store/ledger.ts'
import type { Source } from '../../../../store/source.ts'
import type { Row, SqlDatabase, SqlExecutor } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'
import { numberArray, orderedTexts, textArray } from '../list-encoding.ts'
import { executorOf, hintOf } from '../opaque.ts'
import type { QuerySource } from '../source/source.ts'
import type { Statements } from '../statements-by-schema.ts'
import { areInARow, takesFollowKeys } from './lock-order.ts'

/** Takes follow each other closely when there are no more than so many numbers to each. */
const spread = 2

export function sqlLedger(db: SqlDatabase, texts: () => Statements): Ledger {
  const { together } = db
  const optimism = new Optimism()
  /** Most keys are new to the ledger. Null: one of them is not, or this worker is not registered; or they cannot be told in short. */
  const takesNew = async <T>(
    holder: string,
    claims: readonly Claim[],
    send: (query: SqlQuery) => Promise<T>,
    answer: (sent: T) => { rows: Row[] },
  ): Promise<T | null> => {
    const [first] = claims
    if (!first || !optimism.expectsNew(first.job) || !areInARow(claims)) return null
    const keys = orderedTexts(claims.map(({ key }) => key))
    if (keys === null) return null
    try {
      const sent = await send({ text: texts().claims.takeNew, values: [holder, first.job, keys, String(first.take)] })
      return Number(answer(sent).rows[0]?.taken) === claims.length ? sent : null
    } catch (error) {
      if (sqlState(error) !== '23505') throw error
      optimism.wasWrong(first.job)
      return null
    }
  }
  return {
    ...(db.queryThenTheirs && { oneTrip: oneTrip(db.queryThenTheirs, takesNew, texts) }),
    async take(holder, claims, { suspects = false } = {}) {
      const one = ({ text, values }: SqlQuery) => db.query(text, values)
      if (!suspects && (await takesNew(holder, claims, one, (sent) => sent)))
        return claims.map(({ job, key }) => ({ job, key, ...nothingRemembered }))
      if (claims[0]) optimism.hasLooked(claims[0].job)
      const { rows } = await db.query(texts().claims.take, [holder, suspects, ...arraysOf(claims)])
      const plain = takesOf(rows[0]?.plain)
      const others = JSON.parse((rows[0]?.others as string | null) ?? '[]') as Remembered[]
      const byTake = new Map(others.map((each) => [each[0], each]))
      return claims.map(({ job, key, take }): TakeAnswer => {
        if (plain.has(take)) return { job, key, ...nothingRemembered }
        const [, verdict, waitMs, failures, crashes, version, together] = byTake.get(take) as Remembered
        return { job, key, verdict, waitMs, failures, crashes, version, together }
      })
    },
    async alone(holder, { job, key, take }) {
      try {
        return (await db.query(texts().claims.startSolo, [job, key, holder, take])).rows.length === 1
      } catch (error) {
        // Two asked at the same moment, and the other one has it.
        if (sqlState(error) === '23505') return false
        throw error
      }
    },
    async release(holder, claims) {
      await db.query(texts().claims.release, [holder, JSON.stringify(claims)])
    },
    async settle(holder, rows, within) {
      const tx = within && executorOf(within)
      // The common cases, and short: of a success there is nothing to write but that it is over.
      if (areSuccesses(rows))
        return tx?.last ? settleLast(texts(), holder, rows, tx.last) : settleDone(tx ?? db, texts(), holder, rows)
      const input = rows.map(({ retryMs, ...row }) => ({ ...row, retry_ms: retryMs }))
      const answer = await (tx ?? db).query(texts().claims.settle, [holder, JSON.stringify(input)])
      return new Set(answer.rows.map((row) => Number(row.take)))
    },
    ...(together && {
      shared: { settle: (holder, rows, effects) => together(effects, settleAll(texts(), holder, rows)) },
    }),
    async fence(holder, claims, tx) {
      const { rows } = await executorOf(tx).query(texts().claims.fence, [holder, JSON.stringify(claims)])
      return new Set(rows.map((row) => Number(row.take)))
    },
    async clear(job, rows) {
      const answer = await db.query(texts().ledger.clearOutdated, [
        JSON.stringify(rows.map((row) => ({ job, ...row }))),
      ])
      return answer.rows.map((row) => row.key as string)
    },
    async remember(rows) {
      const input = rows.map(({ retryMs, ...row }) => ({ ...row, retry_ms: retryMs }))
      const answer = await db.query(texts().ledger.recordUnclaimed, [JSON.stringify(input)])
      return answer.rows.map((row) => row.key as string)
    },
    async standing(job, keys) {
      const { rows } = await db.query(texts().ledger.lookup, [job, JSON.stringify(keys)])
      return rows.map((row) => ({
        key: row.key as string,
        live: row.live as boolean,
        quarantined: row.quarantined as boolean,
        waitMs: Number(row.wait_ms),
        version: row.version as string | null,
      }))
    },
  }
}

type TakesNew = <T>(
  holder: string,
  claims: readonly Claim[],
  send: (query: SqlQuery) => Promise<T>,
  answer: (sent: T) => { rows: Row[] },
) => Promise<T | null>

/** A take with its check right behind it, in one packet: the check begins when the take has committed (S2). */
function oneTrip(
  send: NonNullable<SqlDatabase['queryThenTheirs']>,
  takesNew: TakesNew,
  texts: () => Statements,
): OneTripClaims {
  return {
    async claim(holder, source, claims, receipt) {
      if (!isQuerySource(source)) return null
      const [first] = claims as [Claim, ...Claim[]]
      const check = await source.checkQuery(claims.map(({ key }) => key))
      const answerOf = (theirs: { rows: Row[] } | null) => ({ checked: theirs && check.read(theirs) })
      if (!receipt) {
        const both = await takesNew(
          holder,
          claims,
          (take) => send([take], check, first.job),
          ({ own }) => own[0] as { rows: Row[] },
        )
        return both && answerOf(both.theirs)
      }
      // The hint may be in the queue still: redeem-receipt.sql removes it, and take-with-receipt.sql takes the key if it did.
      const hint = hintOf(receipt)
      const redeem = { text: texts().claims.redeemReceipt, values: [hint.job, hint.key] }
      const take = { text: texts().claims.takeWithReceipt, values: [holder, first.job, first.key, String(first.take)] }
      const { own, theirs } = await send([redeem, take], check, first.job)
      if (own[0]?.rows[0]?.popped !== true) return 'gone'
      return Number(own[1]?.rows[0]?.taken) === 1 ? answerOf(theirs) : null
    },
  }
}

/** A source of the user's own functions has no statement to send. */
const isQuerySource = (source: Source): source is QuerySource => 'checkQuery' in source

async function settleDone(db: SqlExecutor, texts: Statements, holder: string, rows: readonly SettleRow[]) {
  if (rows.length === 0) return new Set<number>()
  const takes = rows.map(({ take }) => take)
  const [low, high] = [takes.reduce((a, b) => Math.min(a, b)), takes.reduce((a, b) => Math.max(a, b))]
  const isIntents = rows[0]?.finish === 'intent'
  if (high - low > spread * takes.length)
    return takesOf((await db.query(texts.claims.settleDone, [holder, ...arraysOf(rows), isIntents])).rows[0]?.takes)
  // Each take is there once (S3), so that many between the two are all there are.
  const list = high - low + 1 === takes.length ? null : numberArray(takes)
  const answer = await db.query(texts.claims.settleSpan, [
    holder,
    list,
    low,
    high,
    isIntents,
    takes.length,
    takesFollowKeys(rows),
  ])
  const held = answer.rows[0]?.takes
  return held === null ? new Set(takes) : takesOf(held)
}

/** Of which nothing is to be written, and that leave the same behind: nothing of regrow's, or their intents. */
function areSuccesses(rows: readonly SettleRow[]): boolean {
  const finish = rows[0]?.finish ?? null
  return finish !== 'slot' && rows.every((row) => row.state === 'done' && (row.finish ?? null) === finish)
}

/** All of them or none: the statement itself fails when one is not held, so its transaction cannot commit (S4). */
async function settleLast(texts: Statements, holder: string, rows: readonly SettleRow[], last: SqlExecutor['query']) {
  const [first] = rows
  try {
    if (first && rows.length === 1 && !first.finish)
      await last(texts.claims.settleOne, [holder, first.job, first.key, first.take])
    else {
      const { text, values } = settleAll(texts, holder, rows)
      await last(text, values)
    }
    return new Set(rows.map(({ take }) => take))
  } catch (error) {
    if (isLeaseLost(error)) return new Set<number>()
    throw error
  }
}

const settleAll = (texts: Statements, holder: string, rows: readonly SettleRow[]): SqlQuery => ({
  text: texts.claims.settleAll,
  values: [holder, ...arraysOf(rows), rows.length, rows[0]?.finish === 'intent'],
})

const isLeaseLost = (error: unknown) => /lease lost: \d/.test(messageOf(error))

/** Jobs, keys and takes; a job that all have in common is named once. */
const arraysOf = (rows: readonly Claim[]) => {
  const common = rows[0]?.job
  const jobs = common !== undefined && rows.every(({ job }) => job === common) ? [common] : rows.map(({ job }) => job)
  return [textArray(jobs), textArray(rows.map(({ key }) => key)), numberArray(rows.map(({ take }) => take))]
}

/** A key of which the ledger remembered something, or that it refused. */
type Remembered = [
  take: number,
  verdict: TakeAnswer['verdict'],
  waitMs: number,
  failures: number,
  crashes: number,
  version: string | null,
  together: number | null,
]

/** Take numbers as one text: cheaper than a row for each. */
const takesOf = (list: unknown): Set<number> =>
  new Set(typeof list === 'string' && list !== '' ? list.split(',').map(Number) : [])
