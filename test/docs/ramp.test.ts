// The figures of the ramp in docs/operating.md are those of the code, and no other page has figures of its own.
import { expect, test } from 'vitest'
import { allowedBy } from '../../src/sweep/ramp.ts'
import { projectTexts } from './markdown.ts'

const texts = projectTexts().filter(({ file }) => file.startsWith('docs/') && !file.startsWith('docs/decisions/'))

test('docs/operating.md says how many hints the ramp allows, and when it is over', () => {
  const { source = '' } = texts.find(({ file }) => file === 'docs/operating.md') ?? {}
  const [, section = ''] = /^### The ramp\n(.+?)^## /ms.exec(source) ?? []
  const text = section.replaceAll(/\s+/g, ' ')
  const allowed = (ms: number) => allowedBy(ms).toLocaleString('en')
  expect(text).toContain(`${allowed(0)} hints at first, ${allowed(50)} after 50 ms, ${allowed(100)} after 100 ms`)
  expect([allowedBy(299), allowedBy(300)].map(Number.isFinite)).toEqual([true, false])
  expect(text).toContain('after 300 ms')
})

test('no page says that the ramp takes seconds, or begins with another number', () => {
  const wrong = /500 hints|twice as many with each second|after 20 seconds|ramp is over after [1-9]/
  expect(texts.filter(({ source }) => wrong.test(source.replaceAll(/\s+/g, ' '))).map(({ file }) => file)).toEqual([])
})
