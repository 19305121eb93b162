// Questions about progress behind a pending query that is slow: those that wait are bounded, and a stop does not wait for them.

import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { pledge } from '../../../src/base/deferred.ts'
import { Events } from '../../../src/base/events.ts'
import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import type { EventMap } from '../../../src/job/event-map.ts'
import type { Job } from '../../../src/job/job.ts'
import type { Source } from '../../../src/store/source.ts'
import { type AftermathPorts, progressOf } from '../../../src/worker/after-settle.ts'
import { Claims } from '../../../src/worker/held-claims.ts'
import type { Ready } from '../../../src/worker/stages.ts'
import { seededRandom } from '../../sim/seeded-random.ts'

function scene(check: Source['check'], ledger: object = {}) {
  const random = seededRandom(1)
  const ports = {
    clock: systemClock,
    events: new Events<EventMap>(),
    random,
    claims: new Claims(random),
    ledger,
    push: async () => ({ added: 0, merged: 0, dropped: 0 }),
    source: () => ({ check }),
    classify,
    over: new AbortController().signal,
  } as unknown as AftermathPorts
  const job = { name: 'slow.query', retry: { attemptsMax: 3, backoff: { firstMs: 1, mostMs: 1 } } } as unknown as Job
  const entry = (n: number, version: string | null = null) => ({ job, key: String(n), take: n, version }) as Ready
  return { ask: progressOf(ports), job, entry }
}

const never = new AbortController().signal

test('of a hundred thousand successes behind a question that hangs, a bounded number waits; the sweep has the others', async () => {
  const { promise, resolve } = pledge()
  let asked = 0
  const { ask, job, entry } = scene(async (keys) => {
    asked += keys.length
    await promise
    return { paused: false, pending: new Map() }
  })
  for (let n = 0; n < 100_000; n += 100)
    ask.of(
      job,
      Array.from({ length: 100 }, (_, i) => entry(n + i)),
    )
  resolve()
  await ask.over(never)
  expect(asked).toBeGreaterThan(10_000)
  expect(asked).toBeLessThanOrEqual(20_000)
  // Answered, they make room again.
  ask.of(job, [entry(1)])
})

test('a stop gives up the question that hangs and those behind it, and gives back the claims that one holds', async () => {
  const released: unknown[] = []
  const { promise: taking, resolve: taken } = pledge()
  let checks = 0
  const { ask, job, entry } = scene(
    (keys) => {
      // Still pending in its version: it is taken, and the second check hangs.
      if (++checks > 1) {
        taken()
        return new Promise(() => {})
      }
      const row = (key: string) => ({ key, version: 'v', waitMs: 0, input: null })
      return Promise.resolve({ paused: false, pending: new Map(keys.map((key) => [key, row(key)])) })
    },
    {
      take: async (_: string, claims: { key: string }[]) =>
        claims.map((claim) => ({ ...claim, verdict: 'taken', failures: 0, crashes: 0, version: null })),
      release: async (_: string, claims: { key: string }[]) => void released.push(...claims.map(({ key }) => key)),
    },
  )
  ask.of(job, [entry(1, 'v')])
  await taking
  ask.of(job, [entry(2, 'v')])
  await ask.over(AbortSignal.abort())
  expect(released).toEqual(['1'])
  expect(checks).toBe(2)
})
