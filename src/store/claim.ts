// Claims keys: takes them, then checks them. S2: the snapshot of the check begins after the take has committed; in one snapshot
// with it, the check would grant work that has just finished.
import type { Receipt } from '../job/receipt.ts'
import type { Claim, Ledger, TakeAnswer } from './ledger.ts'
import type { Checked, Source } from './source.ts'

export interface ClaimRequest {
  readonly holder: string
  readonly source: Source
  /** Of one job. Keys and take numbers both ascend (M30). */
  readonly claims: readonly Claim[]
  /** Of the one key, if its hint is still in the queue. */
  readonly receipt?: Receipt | undefined
}

export interface Claimed {
  /** One per key, in the order of the request. Null: all keys were taken, and the ledger remembers none of them. */
  readonly answers: readonly TakeAnswer[] | null
  /** What the check found of the keys that were taken, and of refused ones whose failure belongs to a version. */
  readonly checked: Checked
}

/**
 * Claims keys in as few round trips as the store needs. 'gone': another process removed the hint that the receipt is for, and
 * nothing was taken. A call that throws holds nothing, except takes whose answer was lost; the next beat gives those back (M31).
 */
export type ClaimKeys = (request: ClaimRequest) => Promise<Claimed | 'gone'>

/** `original`: the store's own source behind a wrapped one. */
export function claimKeys(ledger: Ledger, original: (source: Source) => Source): ClaimKeys {
  const { oneTrip } = ledger
  return async (request) => {
    const { holder, source, claims, receipt } = request
    const direct = (await oneTrip?.claim(holder, original(source), claims, receipt)) ?? null
    if (direct === 'gone') return 'gone'
    if (direct === null) return claimInTwoSteps(ledger, request)
    // A check that failed right behind its take is asked again by itself: there its error belongs to a key, or to all.
    return { answers: null, checked: direct.checked ?? (await checkOrRelease(ledger, request, claims, claims)) }
  }
}

/** The plain way, for any store. */
export async function claimInTwoSteps(ledger: Ledger, request: ClaimRequest): Promise<Claimed> {
  const answers = await ledger.take(request.holder, request.claims)
  const taken = request.claims.filter((_, i) => answers[i]?.verdict === 'taken')
  return { answers, checked: await checkOrRelease(ledger, request, taken, answers.filter(isChecked)) }
}

/** What a take answers for a key that the ledger does not remember. */
export const nothingRemembered = {
  verdict: 'taken',
  waitMs: 0,
  failures: 0,
  crashes: 0,
  version: null,
  together: null,
} as const

/** Whatever fails, nothing of this batch has started: a claim that stays known would be held for ever (M31). */
async function checkOrRelease(
  ledger: Ledger,
  { holder, source }: ClaimRequest,
  taken: readonly Claim[],
  wanted: readonly { readonly key: string }[],
): Promise<Checked> {
  if (wanted.length === 0) return nothingChecked
  try {
    return await source.check(wanted.map(({ key }) => key))
  } catch (error) {
    if (taken.length > 0) await ledger.release(holder, taken).catch(() => {})
    throw error
  }
}

const nothingChecked: Checked = { paused: false, pending: new Map() }

/** A refused key is checked if another version of its row would make it new work. */
const isChecked = ({ verdict, version }: TakeAnswer): boolean =>
  verdict === 'taken' || (version !== null && ['not_due', 'quarantined', 'suspect'].includes(verdict))
