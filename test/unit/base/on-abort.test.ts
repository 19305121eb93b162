// Any number of callers wait for one signal through one listener of Node's, and none is left when nobody waits.
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { onAbort } from '../../../src/base/on-abort.ts'

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

test('all who wait are called once, those who left are not, and one listener is enough for them', () => {
  const { signal, ...control } = controller()
  const called: number[] = []
  const leave = Array.from({ length: 200 }, (_, n) => onAbort(signal, () => called.push(n)))
  expect(listeners(signal)).toBe(1)
  leave[7]?.()
  leave[7]?.()
  control.abort()
  control.abort()
  expect(called).toEqual(Array.from({ length: 200 }, (_, n) => n).filter((n) => n !== 7))
  expect(listeners(signal)).toBe(0)
})

test('the same function may wait twice', () => {
  const { signal, abort } = controller()
  let calls = 0
  const count = () => {
    calls++
  }
  const leave = onAbort(signal, count)
  onAbort(signal, count)
  leave()
  abort()
  expect(calls).toBe(1)
})

test('who leaves or comes while the others are called upsets nobody', () => {
  const { signal, abort } = controller()
  const called: string[] = []
  const leave: (() => void)[] = []
  leave.push(
    onAbort(signal, () => {
      called.push('a')
      leave[1]?.()
    }),
  )
  leave.push(onAbort(signal, () => called.push('b')))
  onAbort(signal, () => called.push('c'))
  abort()
  expect(called).toEqual(['a', 'c'])
})

test('no listener is left when everybody has left, and later ones are called again', () => {
  const { signal, abort } = controller()
  onAbort(signal, () => {})()
  expect(listeners(signal)).toBe(0)
  let called = false
  onAbort(signal, () => {
    called = true
  })
  abort()
  expect(called).toBe(true)
})

test('hundreds of sleeps on one signal add one listener, and all end when it aborts', async () => {
  const { signal, abort } = controller()
  const sleeps = Array.from({ length: 200 }, () => systemClock.sleep(60_000, signal))
  const short = systemClock.sleep(1, signal)
  expect(listeners(signal)).toBe(1)
  await short
  abort()
  await Promise.all(sleeps)
  expect(listeners(signal)).toBe(0)
})

function controller(): { signal: AbortSignal; abort: () => void } {
  const made = new AbortController()
  return { signal: made.signal, abort: () => made.abort() }
}
