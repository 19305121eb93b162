// Calls start when there is a connection for their ctx.tx; where there are enough, nothing is waited for.
import { expect, test } from 'vitest'
import type { Handler } from '../../../../src/job/handler.ts'
import { type StartsPorts, start, TxUse } from '../../../../src/worker/run/start-calls.ts'
import type { Ready } from '../../../../src/worker/stages.ts'

const calls = [1, 2, 3].map((take) => [{ key: String(take), take } as Ready])

function scene({ reserve, ours = () => true }: Partial<StartsPorts> = {}) {
  const events: string[] = []
  const ends: (() => void)[] = []
  const ports: StartsPorts = {
    reserve,
    ours,
    uses: new TxUse(),
    run: (_, [entry], over) => {
      events.push(`run ${entry?.key}`)
      ends.push(over)
    },
  }
  const handler = { job: { name: 'a.job' } } as Handler
  return { events, ends, uses: ports.uses, start: () => start(ports, handler, calls) }
}

test('while there are enough connections, all calls start at once', () => {
  const { events, start } = scene({ reserve: () => null })
  void start()
  expect(events).toEqual(['run 1', 'run 2', 'run 3'])
})

test('while they are scarce, each call waits for its own, and gives it back when its handler has ended', async () => {
  const given: (() => void)[] = []
  let back = 0
  const { events, ends, start } = scene({
    reserve: () => new Promise((resolve) => given.push(() => resolve(() => back++))),
  })
  const starting = start()
  expect(events).toEqual([])
  for (let n = 1; n <= 3; n++) {
    given.shift()?.()
    await expect.poll(() => events.length).toBe(n)
  }
  expect(await starting).toEqual([])
  expect(back).toBe(0)
  ends[0]?.()
  expect(back).toBe(1)
})

test('a call that finds none does not start, nor do those behind it', async () => {
  let asked = 0
  const { events, start } = scene({
    reserve: () => (++asked === 1 ? Promise.resolve(() => {}) : Promise.reject(new Error('no connection'))),
  })
  expect(await start()).toEqual(calls.slice(1))
  expect(events).toEqual(['run 1'])
})

test('a claim that was lost while its call waited does not start, and its connection is free again (S2)', async () => {
  let back = 0
  const { events, start } = scene({ reserve: () => Promise.resolve(() => void back++), ours: () => false })
  expect(await start()).toEqual(calls)
  expect(events).toEqual([])
  expect(back).toBe(1)
})

test('a job whose runs never use ctx.tx needs none, until one of them does', async () => {
  let asked = 0
  const { events, uses, start } = scene({
    reserve: () => {
      asked++
      return Promise.reject(new Error('no connection'))
    },
  })
  uses.ended('a.job')
  expect(await start()).toEqual([])
  expect([asked, events.length]).toEqual([0, 3])
  uses.used('a.job')
  expect(await start()).toEqual(calls)
  expect(asked).toBe(1)
})
