// Pools of a process whose server has no connection left: they wait, keep nothing that is idle, and set connections aside for runs.
import { expect, test } from 'vitest'
import type { PgClient, PgPool } from '../../../../../src/drivers/postgres/client/client.ts'
import { Scarcity, SparingPool } from '../../../../../src/drivers/postgres/client/scarcity.ts'
import { VirtualClock } from '../../../../sim/virtual-clock.ts'

/** A server with so many connections, and pools of it that keep what was given back. */
function server(most: number) {
  const clock = new VirtualClock()
  const scarcity = new Scarcity(clock)
  const state = { most, open: 0, refused: 0 }
  const pool = (keep: number) => {
    const idle: PgClient[] = []
    const connect = async (): Promise<PgClient> => {
      const client = idle.pop() ?? made()
      let released = false
      const release = (destroy?: boolean | Error) => {
        if (released) throw new Error('released twice')
        released = true
        if (destroy) state.open--
        else idle.push(client)
      }
      return Object.assign(client, { release })
    }
    const made = () => {
      if (state.open >= state.most) {
        state.refused++
        throw Object.assign(new Error('sorry, too many clients already'), { code: '53300' })
      }
      state.open++
      return { query: async () => ({ rows: [] }) } as unknown as PgClient
    }
    const given = {
      connect,
      get idleCount() {
        return idle.length
      },
    } as unknown as PgPool
    return new SparingPool(given, scarcity, { keep })
  }
  const over = async <T>(work: Promise<T>): Promise<T> => {
    let settled = false
    const note = () => {
      settled = true
    }
    work.then(note, note)
    await clock.run(
      async () => settled,
      120_000,
      async () => {},
    )
    return work
  }
  return { clock, scarcity, state, pool, over }
}

test('a refused connection is waited for, and what is idle is closed, but for what a pool keeps', async () => {
  const { state, pool, over, scarcity } = server(3)
  const [own, other, third] = [pool(1), pool(0), pool(0)]
  for (const each of [own, other]) {
    const clients = await Promise.all([each.connect()])
    for (const client of clients) client.release?.()
  }
  expect(state.open).toBe(2)
  state.most = 2
  // The third pool is let in as soon as the second has closed what it had no use for.
  const client = await over(third.connect())
  expect(scarcity.scarce).toBe(true)
  expect([state.open, state.refused]).toEqual([2, 1])
  client.release?.()
  expect(state.open).toBe(1)
  ;(await own.connect()).release?.()
  expect(state.open).toBe(1)
})

test('a call that finds no connection within 10 s fails with the refusal of the server', async () => {
  const { clock, pool, over } = server(0)
  await expect(over(pool(0).connect())).rejects.toMatchObject({ code: '53300' })
  expect(clock.now()).toBeLessThanOrEqual(11_000)
})

test('while they are scarce a pool hands out one at a time, and one more after each while without a refusal', async () => {
  const { clock, pool, over, scarcity, state } = server(5)
  const handlers = pool(0)
  scarcity.refused()
  const first = await over(handlers.connect())
  const since = clock.now()
  const second = await over(handlers.connect())
  expect(clock.now() - since).toBeGreaterThan(1_900)
  expect(state.open).toBe(2)
  for (const each of [first, second]) each.release?.()
  await over(clock.sleep(31_000))
  expect(scarcity.scarce).toBe(false)
})

test('a connection that was set aside serves the transactions of runs until the last of these runs has ended', async () => {
  const { pool, over, scarcity, state } = server(5)
  const handlers = pool(0)
  expect(handlers.reserve()).toBeNull()
  scarcity.refused()
  const giveBack = await over(handlers.reserve() as Promise<() => void>)
  expect(state.open).toBe(1)
  for (let n = 0; n < 3; n++) (await over(handlers.connect())).release?.()
  expect(state.open).toBe(1)
  giveBack()
  expect(state.open).toBe(0)
})
