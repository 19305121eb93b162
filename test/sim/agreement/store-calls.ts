// The calls that sequences are made of, and what a sequence knows of its own past. Answers whose order the statements leave open
// are sorted.

import type { SettleRow, TakeAnswer } from '../../../src/store/ledger.ts'
import type { Turn } from '../../../src/store/sweeps.ts'
import type { StoreTransaction } from '../../../src/store/transaction.ts'
import type { AppTx } from '../store/database.ts'
import { holders, jobNames, leaseMs } from './store-cast.ts'
import type { Subject } from './store-subject.ts'

/** A claim that this sequence got. */
export interface HeldClaim {
  readonly holder: string
  readonly job: string
  readonly key: string
  readonly take: number
}

/** What the sequence knows of its own past. */
export interface Memory {
  now: number
  takes: number
  /** Newest first. */
  claims: HeldClaim[]
  turns: { holder: string; turn: Turn }[]
}

/** The transaction that a call takes part in. */
export interface Inside {
  readonly tx: StoreTransaction
  readonly own: AppTx
}

/** One call of a port. */
export interface Call {
  readonly name: string
  run(subject: Subject, inside?: Inside): Promise<unknown>
  /** What the answer teaches the sequence. */
  learn?(answer: unknown): void
}

/** A step's details, read as what its call needs. */
// biome-ignore lint/suspicious/noExplicitAny: steps are plain data of many shapes; their arbitraries say which.
export type Detail = any

/** For answers whose order nobody promises. */
export const sorted = <T>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => {
    const [left, right] = [JSON.stringify(a), JSON.stringify(b)]
    return left < right ? -1 : left > right ? 1 : 0
  })

/** A call by a name that tells what is asked. */
export const call = (name: string, run: Call['run'], learn?: Call['learn']): Call => ({
  name,
  run,
  ...(learn && { learn }),
})

/** Time passes for both stores; whole microseconds, as the server keeps them. */
export const pass = (memory: Memory, ms: number): Call => {
  memory.now = Math.round((memory.now + ms) * 1_000) / 1_000
  const at = memory.now
  return call(`pass to ${at}`, (subject) => subject.setNow(at))
}

/** A worker appears, or is there already. */
export const register = (holder: string, jobs: readonly string[], lease = 1): Call => {
  const hashes = Object.fromEntries(jobs.map((job) => [job, 'x']))
  const worker = { holder, host: 'host', pid: 1, jobs: hashes }
  return call(`workers.register ${holder} ${lease}`, ({ store }) => store.workers.register(worker, lease * leaseMs))
}

/** A holder tells that it lives, and knows all of its claims, half of them, or none. */
export const beat = (
  memory: Memory,
  holder: string,
  known: 'all' | 'half' | 'none',
  behind: number,
  stuck?: number,
): Call => {
  const takes = memory.claims.filter((claim) => claim.holder === holder).map(({ take }) => take)
  const list = takes.filter((_, i) => known === 'all' || (known === 'half' && i % 2 === 0))
  const highest = memory.takes - behind
  return call(`workers.beat ${holder} ${list} ${highest}`, ({ store }) =>
    store.workers.beat(holder, list, highest, leaseMs, stuck),
  )
}

/** Ends the claims of the dead; `all`: of everybody. */
export const free = (all: boolean): Call =>
  call(`workers.free ${all}`, async ({ store }) => {
    const { workers, keys, pardoned } = await store.workers.free(all ? -1 : leaseMs)
    return { workers, keys: sorted(keys), pardoned: sorted(pardoned) }
  })

/** Takes keys under new numbers; those that were granted are remembered. */
export const take = (memory: Memory, { holder, job, keys, suspects }: Detail): Call => {
  const claims = (keys as string[]).map((key): HeldClaim => ({ holder, job, key, take: ++memory.takes }))
  const plain = claims.map(({ holder: _, ...claim }) => claim)
  return call(
    `ledger.take ${JSON.stringify({ holder, plain, suspects })}`,
    async ({ store }) => sorted(await store.ledger.take(holder, plain, { suspects })),
    (answers) => {
      if (!Array.isArray(answers)) return
      const taken = new Set((answers as TakeAnswer[]).flatMap((each) => (each.verdict === 'taken' ? [each.key] : [])))
      memory.claims = [...claims.filter(({ key }) => taken.has(key)), ...memory.claims].slice(0, 12)
    },
  )
}

/** A suspect is taken, and begins its run of its own. */
export const takeAlone = (memory: Memory, { holder, job, keys }: Detail): Call[] => {
  const claim = { job, key: keys[0], take: memory.takes + 1 }
  return [
    take(memory, { holder, job, keys, suspects: true }),
    call(`ledger.alone ${JSON.stringify({ holder, claim })}`, ({ store }) => store.ledger.alone(holder, claim)),
  ]
}

/** Every process dies, and others take their place. */
export const crash = (memory: Memory, ms: number): Call[] => [
  free(true),
  pass(memory, ms),
  ...holders.map((holder) => register(holder, jobNames.slice(0, 4))),
]

/** Keys run beside each other when their process dies, several times. */
export const crashTogether = (memory: Memory, { holder, job, keys, times }: Detail): Call[] =>
  Array.from({ length: times }).flatMap(() => [
    take(memory, { holder, job, keys, suspects: false }),
    ...crash(memory, 1_000),
  ])

/** Keys fail for good, whoever had them before. */
export const quarantine = (memory: Memory, { holder, job, keys, version }: Detail): Call => {
  const outcome = { state: 'quarantined', version, failures: 1, crashes: 0, retryMs: 0, error: 'broke' }
  const rows = (keys as string[]).map((key) => settleRow({ job, key, take: ++memory.takes }, outcome))
  return call(`quarantine ${JSON.stringify({ holder, rows })}`, async ({ store }) => {
    const taken = sorted(await store.ledger.take(holder, rows))
    return [...taken, await store.ledger.settle(holder, rows)]
  })
}

/** Claims of this sequence, each key once; held by one holder, who may not be the right one. */
export function claimsOf(
  memory: Memory,
  { of, as, wrong }: Detail,
): { holder: string; claims: Omit<HeldClaim, 'holder'>[] } {
  const found = (of as number[]).flatMap((at) => memory.claims[at % memory.claims.length] ?? [])
  const holder = as ?? found[0]?.holder ?? holders[0]
  const each = new Map(found.map((claim) => [`${claim.job} ${claim.key}`, claim]))
  const claims = [...each.values()].map(({ job, key, take: number }, i) => ({
    job,
    key,
    take: number + (i ? 0 : wrong),
  }))
  return { holder, claims }
}

/** What a settle writes for a claim; the intent goes with it where that is done. */
export const settleRow = (claim: Omit<HeldClaim, 'holder'>, outcome: Detail): SettleRow => ({
  ...claim,
  ...outcome,
  finish: outcome.state === 'done' && claim.job === 'mail' ? 'intent' : null,
})
