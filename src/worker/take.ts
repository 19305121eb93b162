// Upper arrow, step take: popped hints of one job in; claims and refusals out. One statement, no user SQL. Where the store can, the
// check of what nobody remembers travels right behind it, and its answer comes out, too.
import type { Job } from '../job/job.ts'
import type { SqlQuery } from '../job/pending.ts'
import type { PoppedHint } from '../queue/hint.ts'
import type { Claim, Ledger, TakeAnswer, TakeOptions } from '../store/ledger.ts'
import type { Checked, Source } from '../store/source.ts'
import type { Claims } from './held-claims.ts'
import type { Refused, Taken } from './stages.ts'

export interface TakenBatch {
  readonly taken: Taken[]
  readonly refused: Refused[]
  /** What a check that began after the take has found of all of them; null: they are still to be checked. */
  readonly checked: Checked | null
}

/**
 * `source`: whose check may go with it; null: it is asked for later. `removal`: takes the one hint out of the queue on the way; when
 * somebody else has, nothing comes out here.
 */
export async function take(
  { ledger, claims, source }: { ledger: Ledger; claims: Claims; source: Source | null },
  job: Job,
  hints: readonly PoppedHint[],
  { removal, ...options }: TakeOptions & { readonly removal?: SqlQuery | undefined } = {},
): Promise<TakenBatch> {
  const numbered = hints.map(({ key }) => ({ job: job.name, key, take: 0 }))
  // They start in the order of their hints, but are numbered in that of their keys: a settle that follows the takes comes by the
  // keys in order, and needs no other way to do so.
  const inOrder = numbered.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  for (const each of inOrder) each.take = claims.next()
  try {
    const both = source && (await takeThenCheck(ledger, claims, source, inOrder, removal))
    if (both === 'gone') {
      for (const { take } of numbered) claims.forget(take)
      return { taken: [], refused: [], checked: null }
    }
    if (both) {
      const taken = hints.map((hint, i) => takenOf(job, hint, (numbered[i] as Claim).take, nothing))
      return { taken, refused: [], checked: both.checked }
    }
    const answers = new Map((await ledger.take(claims.holder, inOrder, options)).map((each) => [each.key, each]))
    const batch: TakenBatch = { taken: [], refused: [], checked: null }
    for (const [i, hint] of hints.entries()) {
      const [answer, { take }] = [answers.get(hint.key) as TakeAnswer, numbered[i] as Claim]
      if (answer.verdict === 'taken') batch.taken.push(takenOf(job, hint, take, answer))
      else {
        claims.forget(take)
        batch.refused.push({ hint, why: answer.verdict, waitMs: answer.waitMs, ledgerVersion: answer.version })
      }
    }
    return batch
  } catch (error) {
    // The statement may have committed. Neither known nor awaited any more, the next beat gives the keys back.
    for (const { take } of numbered) claims.forget(take)
    throw error
  }
}

/** Null: nothing was taken. A check that failed is asked for once more, by itself: there its error belongs to a key, or to all. */
async function takeThenCheck(
  ledger: Ledger,
  { holder }: Claims,
  source: Source,
  numbered: readonly Claim[],
  removal: SqlQuery | undefined,
): Promise<{ readonly checked: Checked | null } | 'gone' | null> {
  if (!ledger.takeThenCheck || !source.checkQuery) return null
  const query = await source.checkQuery(numbered.map(({ key }) => key))
  const both = await ledger.takeThenCheck(holder, numbered, query, removal)
  return both === 'gone' ? both : both && { checked: both.checked && query.read(both.checked) }
}

const nothing = { failures: 0, crashes: 0, version: null, together: null }

const takenOf = (
  job: Job,
  { key, fresh }: PoppedHint,
  take: number,
  { failures, crashes, version, together }: Pick<TakeAnswer, keyof typeof nothing>,
): Taken => ({ job, key, fresh, take, failures, crashes, together, ledgerVersion: version })

/** Of several hints of one key the last one. Keys that come in order are there once; a table of them all is only made for others. */
export function onceEach(hints: readonly PoppedHint[]): readonly PoppedHint[] {
  const ordered = hints.every(({ key }, i) => i === 0 || (hints[i - 1] as PoppedHint).key < key)
  return ordered ? hints : [...new Map(hints.map((hint) => [hint.key, hint])).values()]
}
