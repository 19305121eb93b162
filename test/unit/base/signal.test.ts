// A signal reaches every listener, until each of them ends it.
import { expect, test } from 'vitest'
import { Signal } from '../../../src/base/signal.ts'

test('a signal calls every listener that has not ended', () => {
  const signal = new Signal()
  const heard: string[] = []
  const endFirst = signal.listen(() => heard.push('first'))
  signal.listen(() => heard.push('second'))
  signal.fire()
  endFirst()
  signal.fire()
  expect(heard).toEqual(['first', 'second', 'second'])
})
