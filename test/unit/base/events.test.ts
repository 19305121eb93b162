// Events reach their listeners, and a listener's mistake reaches nobody.
import { channel } from 'node:diagnostics_channel'
import { expect, test } from 'vitest'
import { Events } from '../../../src/base/events.ts'
import { hostileValues } from '../../hostile-values.ts'

interface Told {
  told: { what: string }
  other: { n: number }
}

test('a listener hears its own name, and * hears all of them', () => {
  const events = new Events<Told>()
  const heard: unknown[] = []
  events.on('told', (detail, name) => heard.push([name, detail]))
  events.on('*', (detail, name) => heard.push(['*', name, detail]))
  events.emit('told', { what: 'a' })
  events.emit('other', { n: 1 })
  expect(heard).toEqual([
    ['told', { what: 'a' }],
    ['*', 'told', { what: 'a' }],
    ['*', 'other', { n: 1 }],
  ])
})

test('a listener that throws stops neither the caller nor the next listener', () => {
  const events = new Events<Told>()
  const heard: string[] = []
  events.on('told', () => {
    throw new Error('a mistake')
  })
  events.on('told', ({ what }) => heard.push(what))
  events.emit('told', { what: 'a' })
  expect(heard).toEqual(['a'])
})

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw 'a mistake'
    },
  ],
  ['rejects', () => Promise.reject('a mistake')],
  [
    'answers what rejects when it is awaited',
    // biome-ignore lint/suspicious/noThenProperty: it is awaited.
    () => ({ then: (_: unknown, reject: (why: string) => void) => reject('a mistake') }),
  ],
])('what a listener %s is told, with the event that it heard', async (_, listener) => {
  const events = new Events<Told>()
  const told = new Promise((resolve) => events.whenListenerFails((...told) => resolve(told)))
  events.on('*', listener as () => void)
  events.emit('told', { what: 'a' })
  expect(await told).toEqual(['told', 'a mistake'])
})

test('a listener may answer anything', async () => {
  const events = new Events<Told>()
  for (const { make } of hostileValues) events.on('told', make as () => void)
  expect(() => events.emit('told', { what: 'a' })).not.toThrow()
})

test('what overhears may throw, and the caller goes on', () => {
  const events = new Events<Told>()
  events.overhear(() => {
    throw new Error('a mistake')
  })
  expect(() => events.emit('told', { what: 'a' })).not.toThrow()
})

test('heard says whether anybody listens', () => {
  const events = new Events<Told>()
  expect(events.heard('told')).toBe(false)
  const off = events.on('told', () => {})
  expect([events.heard('told'), events.heard('other')]).toEqual([true, false])
  off()
  expect(events.heard('told')).toBe(false)
  const offAll = events.on('*', () => {})
  expect(events.heard('other')).toBe(true)
  offAll()
})

test('the diagnostics channel regrow carries every event', () => {
  const events = new Events<Told>()
  const heard: unknown[] = []
  const listen = (message: unknown) => heard.push(message)
  channel('regrow').subscribe(listen)
  expect(events.heard('told')).toBe(true)
  events.emit('told', { what: 'a' })
  channel('regrow').unsubscribe(listen)
  expect(heard).toEqual([{ name: 'told', detail: { what: 'a' } }])
})
