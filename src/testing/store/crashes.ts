// Rules of crashes: the first is free, from the second on a key is a suspect and may only run alone; what crashes alone three
// times is quarantined, and who only died beside it is not blamed.
import assert from 'node:assert/strict'
import type { Claim } from '../../store/ledger.ts'
import type { FreedKey } from '../../store/workers.ts'
import type { Case } from '../suite.ts'
import { answers, claims, fail, jobName, leaseMs, live, type StoreContext, settle, take, worker } from './context.ts'

let deaths = 0

/** A process dies that has taken these keys; `other` lives on and frees them. */
async function crash(context: StoreContext, keys: readonly string[]): Promise<readonly FreedKey[]> {
  const holder = await worker(context, `dead${++deaths}`)
  await take(context, holder, keys)
  return dies(context)
}

/** Whoever does not beat is freed by `other`. */
async function dies(context: StoreContext): Promise<readonly FreedKey[]> {
  await worker(context, 'other')
  await live(context, ['other'], 2 * leaseMs)
  return (await context.store.workers.free(leaseMs)).keys
}

/** A suspect taken for a run of its own by a new process. */
async function reserve(context: StoreContext, key: string, job = jobName): Promise<{ holder: string; claim: Claim }> {
  const holder = await worker(context, `solo${++deaths}`)
  const [claim] = claims(context, [key], job) as [Claim]
  const [answer] = await context.store.ledger.take(holder, [claim], { suspects: true })
  assert.equal(answer?.verdict, 'taken', `suspect ${key}`)
  return { holder, claim }
}

async function crashAlone(context: StoreContext, key: string) {
  const { holder, claim } = await reserve(context, key)
  assert.equal(await context.store.ledger.alone(holder, claim), true)
  return dies(context)
}

/** Verdict, failures and crashes that a take by `other` is told. */
async function told(context: StoreContext, key: string) {
  const answer = (await answers(context, 'other', [key])).get(key)
  return [answer?.verdict, answer?.failures, answer?.crashes]
}

export const crashesCases: readonly Case<StoreContext>[] = [
  {
    name: 'after the first crash a key starts again like any other, and its failures are kept',
    async run(context) {
      await worker(context, 'other')
      await fail(context, 'other', 'x', { failures: 2, version: 'v1', retryMs: 0 })
      const [freed] = await crash(context, ['x'])
      assert.deepEqual(freed, { job: jobName, key: 'x', crashes: 1, why: 'crashed', quarantined: false })
      assert.deepEqual(await told(context, 'x'), ['taken', 2, 1])
    },
  },
  {
    name: 'from the second crash on a key is a suspect, which only a take for a run of its own gets',
    async run(context) {
      await crash(context, ['x', 'calm'])
      await context.database.own('ledger').remove({ key: 'calm' })
      await crash(context, ['x', 'calm'])
      assert.deepEqual(await told(context, 'x'), ['suspect', 0, 2])
      assert.deepEqual(await told(context, 'calm'), ['taken', 0, 1])
      await reserve(context, 'x')
    },
  },
  {
    name: 'one process per job has a suspect at a time; another job has its own',
    async run(context) {
      for (let i = 0; i < 2; i++) await crash(context, ['x', 'y'])
      await context.database.own('ledger').update({ job: 'b' }, { key: 'y' })
      await crashTwice(context, 'z')
      await reserve(context, 'x')
      const [claim] = claims(context, ['z']) as [Claim]
      const [refused] = await context.store.ledger.take('other', [claim], { suspects: true })
      assert.equal(refused?.verdict, 'suspect')
      await reserve(context, 'y', 'b')
    },
  },
  {
    name: 'of two that have a suspect of one job, one begins; when it has settled, the other may',
    async run(context) {
      for (let i = 0; i < 2; i++) await crash(context, ['x', 'y'])
      const first = await reserve(context, 'x')
      // As if both had looked before either one's take was there.
      await context.database.own('ledger').update({ crashes: 0 }, { key: 'x' })
      const second = await reserve(context, 'y')
      await context.database.own('ledger').update({ crashes: 2 }, { key: 'x' })
      const { ledger } = context.store
      assert.equal(await ledger.alone(first.holder, first.claim), true)
      assert.equal(await ledger.alone(second.holder, second.claim), false)
      await settle(context, first.holder, first.claim)
      assert.equal(await ledger.alone(second.holder, second.claim), true)
      assert.equal(await ledger.alone(second.holder, { ...second.claim, take: second.claim.take + 1_000 }), false)
    },
  },
  {
    name: 'a suspect whose worker dies before it ran is not blamed, and may be taken again',
    async run(context) {
      await crashTwice(context, 'x')
      await reserve(context, 'x')
      const [freed] = await dies(context)
      assert.deepEqual(freed, { job: jobName, key: 'x', crashes: 2, why: 'waited', quarantined: false })
      await reserve(context, 'x')
    },
  },
  {
    name: 'the third crash alone quarantines a key, with the reason',
    async run(context) {
      await crashTwice(context, 'x')
      for (const crashes of [3, 4]) {
        const [freed] = await crashAlone(context, 'x')
        assert.deepEqual(freed, { job: jobName, key: 'x', crashes, why: 'alone', quarantined: false })
        await context.pass(60_000)
        await live(context, ['other'], leaseMs)
      }
      const [last] = await crashAlone(context, 'x')
      assert.deepEqual(last, { job: jobName, key: 'x', crashes: 5, why: 'alone', quarantined: true })
      assert.deepEqual((await told(context, 'x'))[0], 'quarantined')
      const [row] = await context.database.own('ledger').rows()
      assert.match(row?.error as string, /died while this key ran alone, 3 of 3 times/)
    },
  },
  {
    name: 'a suspect that is given back is a suspect still, and its job is free for the next one',
    async run(context) {
      for (let i = 0; i < 2; i++) await crash(context, ['x', 'y'])
      const { holder, claim } = await reserve(context, 'x')
      assert.equal(await context.store.ledger.alone(holder, claim), true)
      await context.store.ledger.release(holder, [claim])
      assert.deepEqual(await told(context, 'x'), ['suspect', 0, 2])
      const next = await reserve(context, 'y')
      assert.equal(await context.store.ledger.alone(next.holder, next.claim), true)
    },
  },
  {
    name: 'a suspect that fails alone without a crash is no suspect any more',
    async run(context) {
      await crashTwice(context, 'x')
      const { holder, claim } = await reserve(context, 'x')
      await context.store.ledger.alone(holder, claim)
      await settle(context, holder, claim, { state: 'retrying', failures: 1, crashes: 2, error: 'e' })
      assert.deepEqual(await told(context, 'x'), ['taken', 1, 2])
    },
  },
  {
    name: 'when a key is caught crashing alone, those that died with it are no longer suspects',
    async run(context) {
      for (let i = 0; i < 2; i++) await crash(context, ['poison', 'n1', 'n2'])
      for (let i = 0; i < 2; i++) await crash(context, ['elsewhere'])
      const { holder, claim } = await reserve(context, 'poison')
      await context.store.ledger.alone(holder, claim)
      await live(context, ['other'], 2 * leaseMs)
      const { keys, pardoned } = await context.store.workers.free(leaseMs)
      assert.deepEqual(
        keys.map(({ key, why }) => [key, why]),
        [['poison', 'alone']],
      )
      assert.deepEqual(pardoned.map(({ key }) => key).sort(), ['n1', 'n2'])
      assert.deepEqual(await told(context, 'n1'), ['taken', 0, 2])
      assert.deepEqual((await told(context, 'elsewhere'))[0], 'suspect')
      assert.deepEqual((await told(context, 'poison'))[0], 'not_due')
    },
  },
  {
    name: 'how many keys may share the next call is kept with a failure, and gone with a success',
    async run(context) {
      await worker(context, 'other')
      await fail(context, 'other', 'x', { retryMs: 0, together: 50 })
      const [claim] = claims(context, ['x']) as [Claim]
      assert.equal((await context.store.ledger.take('other', [claim]))[0]?.together, 50)
      await settle(context, 'other', claim)
      assert.equal((await answers(context, 'other', ['x'])).get('x')?.together, null)
    },
  },
]

async function crashTwice(context: StoreContext, key: string): Promise<void> {
  await crash(context, [key])
  await crash(context, [key])
}
