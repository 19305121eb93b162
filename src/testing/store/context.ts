// What a case of the store suite works with, and the short words its steps are written in.
import assert from 'node:assert/strict'
import type { Clock } from '../../drivers/index.ts'
import type { Handler } from '../../index.ts'
import type { Claim, SettleRow, TakeAnswer } from '../../store/ledger.ts'
import type { Store } from '../../store/store.ts'
import type { StoreDatabase } from '../store-database.ts'

/** A declared job, as a source is made for it. */
export type DeclaredJob = Handler['job']
type KeyShape = DeclaredJob['key']['shape']
type Pending = { text: string; values: readonly unknown[] } | NonNullable<DeclaredJob['custom']>

/** The surroundings of one case. */
export interface StoreContext {
  /** Migrated and empty. */
  readonly store: Store
  /** Opens the store once more on the same database, as another process would. */
  open(): Promise<Store>
  /** Its tables and its clock, beside the store. */
  readonly database: StoreDatabase
  /** As `database.pass`. */
  pass(ms: number): Promise<void>
  /** A job with this pending query; its key is text where nothing else is said. */
  job(name: string, pending: Pending, key?: KeyShape): DeclaredJob
  /** A take number that was not used before. */
  nextTake(): number
  /** Real time, for deadlines. */
  readonly clock: Clock
}

/** The lease that all cases use. */
export const leaseMs = 10_000
/** The job of a case that needs only one. */
export const jobName = 'a'

/** Registers a worker; its name is its holder. */
export async function worker({ store }: StoreContext, holder: string): Promise<string> {
  await store.workers.register({ holder, host: 'host', pid: 1, jobs: { [jobName]: 'x' } }, leaseMs)
  return holder
}

/** Time passes while these workers beat as they should; they know all of their claims. */
export async function live(context: StoreContext, holders: readonly string[], ms: number): Promise<void> {
  const step = leaseMs / 5
  for (let passed = 0; passed < ms; passed += step) {
    await context.pass(Math.min(step, ms - passed))
    for (const holder of holders) await context.store.workers.beat(holder, [], 0, leaseMs)
  }
}

/** Claims with new take numbers, not yet taken. */
export function claims(context: StoreContext, keys: readonly string[], job = jobName): Claim[] {
  return keys.map((key) => ({ job, key, take: context.nextTake() }))
}

/** What a take answers for each key. */
export async function answers(
  context: StoreContext,
  holder: string,
  keys: readonly string[],
  job = jobName,
): Promise<Map<string, TakeAnswer>> {
  const found = await context.store.ledger.take(holder, claims(context, keys, job))
  assert.equal(found.length, keys.length, 'a take answers once for each key')
  return new Map(found.map((answer) => [answer.key, answer]))
}

/** The verdict of a take on one key. */
export async function verdict(context: StoreContext, holder: string, key: string): Promise<string | undefined> {
  return (await answers(context, holder, [key])).get(key)?.verdict
}

/** Takes keys that must be free. */
export async function take(
  context: StoreContext,
  holder: string,
  keys: readonly string[],
  job = jobName,
): Promise<Claim[]> {
  const list = claims(context, keys, job)
  const found = await context.store.ledger.take(holder, list)
  for (const { key, verdict: each } of found) assert.equal(each, 'taken', `key ${key}`)
  return list
}

/** The outcome of a claim: a success where nothing else is said. */
export function outcome(claim: Claim, how: Partial<SettleRow> = {}): SettleRow {
  const nothing = { version: null, failures: 0, crashes: 0, retryMs: 0, error: null, finish: null }
  return { ...claim, state: 'done', ...nothing, ...how }
}

/** Settles one claim that must be held. */
export async function settle(
  { store }: StoreContext,
  holder: string,
  claim: Claim,
  how: Partial<SettleRow> = {},
): Promise<void> {
  const held = await store.ledger.settle(holder, [outcome(claim, how)])
  assert.deepEqual([...held], [claim.take])
}

/** Leaves a key behind that failed once, and waits. */
export async function fail(
  context: StoreContext,
  holder: string,
  key: string,
  how: Partial<SettleRow> = {},
): Promise<void> {
  const [claim] = await take(context, holder, [key])
  await settle(context, holder, claim as Claim, { state: 'retrying', failures: 1, retryMs: 60_000, error: 'e', ...how })
}

/** Keys of job `a` that somebody holds. */
export async function liveKeys({ store }: StoreContext, keys: readonly string[]): Promise<string[]> {
  const standing = await store.ledger.standing(jobName, keys)
  return standing
    .filter(({ live: held }) => held)
    .map(({ key }) => key)
    .sort()
}
