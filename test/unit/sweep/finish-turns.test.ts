// Turns that end at once: in one statement, each for itself.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import type { EndedTurn, Healed } from '../../../src/store/sweeps.ts'
import { turnEnder } from '../../../src/sweep/finish-turns.ts'

const ended = (job: string): EndedTurn => ({
  turn: { job, term: 1 },
  end: { cursor: null, nextMs: 0, error: null, seen: 0, pushed: 0, held: 0, tookMs: 0 },
})

test('turns that end at once travel together by their owner; one that the store refuses fails alone', async () => {
  const calls: string[] = []
  const healed: Healed = { epoch: 2, pushed: 7, tookMs: 9 }
  const end = turnEnder(
    systemClock,
    {
      async end(owner, ends) {
        calls.push(`${owner}: ${ends.map(({ turn }) => turn.job).join(' ')}`)
        if (ends.some(({ turn }) => turn.job === 'bad')) throw Object.assign(new Error('refused'), { code: '22P05' })
        return ends.some(({ turn }) => turn.job === 'a') ? [healed] : []
      },
    },
    classify,
  )
  const results = await Promise.allSettled([
    end('x', ended('a')),
    end('x', ended('bad')),
    end('x', ended('b')),
    end('y', ended('c')),
    end('x', ended('d')),
  ])
  expect(calls).toEqual(['x: a bad b d', 'x: a bad', 'x: a', 'x: bad', 'x: b d', 'y: c'])
  const values = results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message))
  expect(values).toEqual([[healed], 'refused', [], [], []])
})

test('a store that is away fails all of them', async () => {
  const end = turnEnder(
    systemClock,
    {
      end: async () => {
        throw new Error('away')
      },
    },
    classify,
  )
  const results = await Promise.allSettled([end('x', ended('a')), end('x', ended('b'))])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
