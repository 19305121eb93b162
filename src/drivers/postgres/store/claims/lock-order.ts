// Why statements of many claims cannot deadlock (M30): all of them lock rows of the ledger in the order of their keys (`collate "C"`,
// then of jobs), so that of two that meet one waits for the other, and never each for the other. Each statement sees to that itself:
//
// - take.sql, settle.sql, settle-done.sql, settle-all.sql, fence.sql and release.sql sort what they are given, and lock row by row
//   with a lateral join, which has one plan only. Whatever the session tells the planner, the order stays.
// - take-new.sql sorts nothing and writes rows as they come. Only keys that come in order are sent to it (`areOrdered`); all other
//   batches go to take.sql.
// - settle-span.sql deletes rows on a walk along the index ledger_taken, in the order of their takes. That is key order if both
//   hold: (1) takes ascend with keys, as the worker numbers them (`Ledger.take`); `takesFollowKeys` looks. (2) The plan is such a
//   walk, which it is in a session with `walkSettings`; the statement looks at them. If one does not hold, the statement first locks
//   the rows in key order, at the price of a second change to each row.
//
// So a caller that numbers its takes otherwise, a pooler or a session with other settings cost time, and no deadlock:
// test/race/lock-order.test.ts tries them all.
import type { Claim } from '../../../../store/ledger.ts'

/**
 * Settings with which the planner finds a range of takes by a walk along ledger_taken: an index scan, and not a bitmap or a sequential scan,
 * which come by rows as they lie in the table. The connections that regrow opens for its own statements have them; settle-span.sql names
 * each of them.
 */
export const walkSettings = { enable_indexscan: 'on', enable_bitmapscan: 'off', enable_seqscan: 'off' } as const

/** Claims of one job whose takes follow each other one by one, as the worker numbers what it popped: the first take says them all. */
export const areInARow = (claims: readonly Claim[]): boolean =>
  claims.every(({ job, take }, i) => job === claims[0]?.job && take === (claims[0]?.take ?? 0) + i)

/** Whether a walk along the takes comes by the keys in order. */
export function takesFollowKeys(claims: readonly Claim[]): boolean {
  const byTake = claims.every(({ take }, i) => i === 0 || (claims[i - 1] as Claim).take < take)
    ? claims
    : claims.toSorted((a, b) => a.take - b.take)
  return areOrdered(byTake.map(({ key }) => key))
}

/** Each once, in the order of `collate "C"`, of plain characters only: JavaScript has others in another order. */
export const areOrdered = (texts: readonly string[]): boolean =>
  areAscending(texts) && texts.every((text) => isPlain.test(text))

/** Texts in the order that JavaScript has. */
export const inOrder = (texts: readonly string[]): readonly string[] =>
  areAscending(texts) ? texts : texts.toSorted((a, b) => (a < b ? -1 : 1))

const areAscending = (texts: readonly string[]): boolean =>
  texts.every((text, i) => i === 0 || (texts[i - 1] as string) < text)

const isPlain = /^[\x20-\x7e]+$/
