// Events reach their listeners, and a listener's mistake reaches nobody.
import { channel } from 'node:diagnostics_channel'
import { expect, test } from 'vitest'
import { Events } from '../../../src/base/events.ts'

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
