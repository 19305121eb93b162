// One outcome that cannot be decided or written costs its own run alone, and what no other try can mend is not tried again (M36, M44).
import { expect, test } from 'vitest'
import { Events } from '../../../src/base/events.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import type { EventMap } from '../../../src/job/event-map.ts'
import { readJob } from '../../../src/job/job.ts'
import type { Outcome } from '../../../src/job/outcome.ts'
import type { Ledger, SettleRow } from '../../../src/store/ledger.ts'
import type { Source } from '../../../src/store/source.ts'
import { Claims } from '../../../src/worker/held-claims.ts'
import { settle } from '../../../src/worker/settle.ts'
import { settleUntilRecorded } from '../../../src/worker/settle-apart.ts'
import type { Ended } from '../../../src/worker/stages.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const { job } = readJob('a', { pending: { text: 'select 1', values: [] } })

function ended(take: number, outcome: Outcome): Ended {
  const facts = {
    fresh: true,
    failures: 0,
    crashes: 0,
    together: null,
    ledgerVersion: null,
    version: null,
    input: null,
  }
  return { entry: { job, key: `k${take}`, take, ...facts }, outcome, tookMs: 1, chance: 0.5, settled: false }
}
const success: Outcome = { kind: 'success' }
const undecidable: Outcome = {
  kind: 'failure',
  get error() {
    throw new TypeError('it resists')
  },
}

/** Settles a batch; `refuse` may throw for rows that are sent. */
function scene(refuse: (rows: readonly SettleRow[]) => void = () => {}) {
  const clock = new VirtualClock()
  const events = new Events<EventMap>()
  const told: unknown[] = []
  events.on('loop.failed', ({ error }) => told.push(error))
  const sent: SettleRow[][] = []
  const ledger: Pick<Ledger, 'settle'> = {
    async settle(_, rows) {
      sent.push([...rows])
      refuse(rows)
      return new Set(rows.map(({ take }) => take))
    },
  }
  const claims = new Claims(systemRandom)
  const send = (part: readonly Ended[]) =>
    settle(ledger as Ledger, claims, () => ({ finishes: null }) as unknown as Source, part)
  const over = new AbortController().signal
  const ports = { clock, random: systemRandom, events, claims, classify, over, send }
  const written = () => sent.at(-1)?.map(({ take, state, error }) => [take, state, error])
  return { clock, told, sent, written, settle: (batch: readonly Ended[]) => settleUntilRecorded(ports, batch) }
}

test('an outcome that cannot be decided is a failure of its run, in the same statement as its neighbours', async () => {
  const { settle, written, sent } = scene()
  const results = await settle([ended(1, success), ended(2, undecidable), ended(3, success)])
  expect(results.map(({ settlement, held }) => [settlement.state, held])).toEqual([
    ['done', true],
    ['retrying', true],
    ['done', true],
  ])
  expect(sent).toHaveLength(1)
  expect(written()).toEqual([
    [1, 'done', null],
    [2, 'retrying', expect.stringContaining('could not be written: it resists')],
    [3, 'done', null],
  ])
})

test('what is no error of the store is not tried again: the batch is halved until the run is alone that causes it', async () => {
  const { settle, told, sent } = scene((rows) => {
    if (rows.some(({ take, state }) => take === 2 && state === 'done')) throw new TypeError('take is not iterable')
  })
  const results = await settle([1, 2, 3, 4].map((take) => ended(take, success)))
  expect(results.map(({ ended, settlement }) => [ended.entry.take, settlement.state])).toEqual([
    [1, 'done'],
    [2, 'retrying'],
    [3, 'done'],
    [4, 'done'],
  ])
  expect(sent.map((rows) => rows.length)).toEqual([4, 2, 1, 1, 2, 1])
  expect(told).toEqual([])
})

test('a run whose outcome can be written in no form is told of, and its neighbours are recorded', async () => {
  const { settle, told } = scene((rows) => {
    if (rows.some(({ take }) => take === 2)) throw undefined
  })
  const results = await settle([ended(1, success), ended(2, success)])
  expect(results.map(({ held }) => held)).toEqual([true, false])
  expect(told).toEqual([undefined])
})

test('an error of the store is tried again until it answers, and told at its first time', async () => {
  let refusals = 3
  const error = Object.assign(new Error('read only'), { code: '25006' })
  const { settle, told, clock, sent } = scene(() => {
    if (refusals-- > 0) throw error
  })
  const settled = settle([ended(1, success)])
  await clock.pass(50)
  expect([sent.length, told]).toEqual([1, [error]])
  await clock.pass(60_000)
  expect(await settled).toMatchObject([{ held: true }])
  expect([sent.length, told]).toEqual([4, [error]])
})
