// Upper arrow, step claim: popped hints of one job in; what may start out, and why the rest may not. The store takes each key and
// then checks it against the rows (S2); this file numbers the takes and sorts the answers.
import type { Job } from '../job/job.ts'
import type { Receipt } from '../job/receipt.ts'
import type { PoppedHint } from '../queue/hint.ts'
import { type ClaimKeys, nothingRemembered } from '../store/claim.ts'
import type { Claim, Ledger, TakeAnswer } from '../store/ledger.ts'
import type { Checked, Source } from '../store/source.ts'
import type { Claims } from './held-claims.ts'
import type { CheckedBatch, Ready, Refused, Taken } from './stages.ts'

export interface ClaimPorts {
  readonly claims: Claims
  readonly claim: ClaimKeys
}

/** `receipt`: of the one hint, if it is still in the queue; if another worker was quicker, the batch is empty. */
export async function claimHints(
  { claims, claim }: ClaimPorts,
  job: Job,
  source: Source,
  hints: readonly PoppedHint[],
  receipt?: Receipt,
): Promise<CheckedBatch> {
  const { numbered, inOrder } = number(claims, job, hints)
  const forgetAll = () => {
    for (const { take } of numbered) claims.forget(take)
  }
  const claimed = await claim({ holder: claims.holder, source, claims: inOrder, receipt }).catch((error: unknown) => {
    // A take may have committed without its answer. Neither known nor awaited now, the next beat gives it back (M31).
    forgetAll()
    throw error
  })
  if (claimed === 'gone') {
    forgetAll()
    return { ready: [], refused: [], stopped: [], renewed: [], broken: [] }
  }
  const byKey = claimed.answers && new Map(claimed.answers.map((answer) => [answer.key, answer]))
  const taken: Taken[] = []
  const refused: Refused[] = []
  for (const [i, hint] of hints.entries()) {
    const { take } = numbered[i] as Claim
    const answer = byKey ? (byKey.get(hint.key) as TakeAnswer) : nothingRemembered
    if (answer.verdict === 'taken') taken.push(takenOf(job, hint, take, answer))
    else {
      claims.forget(take)
      refused.push({ hint, why: answer.verdict, waitMs: answer.waitMs, ledgerVersion: answer.version })
    }
  }
  return sortChecked(taken, refused, claimed.checked)
}

/** Takes a suspect, which may only run alone; undefined: it may not be taken now. */
export async function takeSuspect(
  { ledger, claims }: { readonly ledger: Pick<Ledger, 'take'>; readonly claims: Claims },
  job: Job,
  hint: PoppedHint,
): Promise<Taken | undefined> {
  const take = claims.next()
  const forget = () => claims.forget(take)
  try {
    const [answer] = await ledger.take(claims.holder, [{ job: job.name, key: hint.key, take }], { suspects: true })
    if (answer?.verdict === 'taken') return takenOf(job, hint, take, answer)
    forget()
    return undefined
  } catch (error) {
    // As in `claimHints`.
    forget()
    throw error
  }
}

/** Take numbers that ascend with keys, as `Ledger.take` says (M30). `numbered` is in the order of the hints, in which they start. */
function number(claims: Claims, job: Job, hints: readonly PoppedHint[]) {
  const numbered = hints.map(({ key }) => ({ job: job.name, key, take: 0 }))
  const inOrder = numbered.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  for (const each of inOrder) each.take = claims.next()
  return { numbered, inOrder }
}

const takenOf = (
  job: Job,
  { key, fresh }: PoppedHint,
  take: number,
  { failures, crashes, version, together }: Pick<TakeAnswer, 'failures' | 'crashes' | 'version' | 'together'>,
): Taken => ({ job, key, fresh, take, failures, crashes, together, ledgerVersion: version })

/** What may start of the keys that were taken, and which refused ones are new work, by what the check found. */
export function sortChecked(
  taken: readonly Taken[],
  refused: readonly Refused[],
  { paused, pending, broken }: Checked,
): CheckedBatch {
  const batch: CheckedBatch = { ready: [], refused: [], stopped: [], renewed: [], broken: [] }
  for (const entry of taken) {
    const row = pending.get(entry.key)
    const error = broken?.get(entry.key)
    if (error !== undefined) batch.broken.push({ entry: readyOf(entry, null, null), error })
    // S8: no check begun after the pause committed starts a key.
    else if (paused) batch.stopped.push({ entry, why: 'paused', waitMs: 0 })
    else if (!row) batch.stopped.push({ entry, why: 'not_pending', waitMs: 0 })
    else if (row.waitMs > 0) batch.stopped.push({ entry, why: 'not_due', waitMs: row.waitMs })
    else batch.ready.push(readyOf(entry, row.version, row.input, row.unique))
  }
  for (const each of refused) {
    const version = pending.get(each.hint.key)?.version ?? null
    // A key that is live is not refused for what a version did: the ledger remembers none for it.
    const isRenewed = isForVersion(each) && version !== null && version !== each.ledgerVersion
    if (isRenewed) batch.renewed.push({ key: each.hint.key, version })
    else batch.refused.push(each)
  }
  return batch
}

const isForVersion = ({ why, ledgerVersion }: Refused): boolean =>
  ledgerVersion !== null && (why === 'not_due' || why === 'quarantined' || why === 'suspect')

/** Written out: spreading objects of several shapes costs more than the check itself. */
const readyOf = (entry: Taken, version: string | null, input: string | null, unique = false): Ready => ({
  job: entry.job,
  key: entry.key,
  fresh: entry.fresh,
  take: entry.take,
  failures: entry.failures,
  crashes: entry.crashes,
  together: entry.together,
  ledgerVersion: entry.ledgerVersion,
  version,
  input,
  unique,
})

/** Of several hints of one key the last one. Keys that come in order are there once; only others need a table. */
export function onceEach(hints: readonly PoppedHint[]): readonly PoppedHint[] {
  const ordered = hints.every(({ key }, i) => i === 0 || (hints[i - 1] as PoppedHint).key < key)
  return ordered ? hints : [...new Map(hints.map((hint) => [hint.key, hint])).values()]
}
