// Findings as people read them: jobs without a handler are one line, everything else has its own.
import { createColors } from 'picocolors'
import { expect, test } from 'vitest'
import { checkText, findingMessages } from '../../../../src/cli/render/health.ts'
import type { Finding, Health } from '../../../../src/operate/index.ts'

const plain = createColors(false)
const unhandled = (job: string, level: Finding['level'] = 'bad'): Finding => ({
  level,
  code: 'no_handler',
  job,
  message: `${job}: no live worker has its handler`,
  hint: `Start a worker that has it: ${job}`,
})
const late: Finding = { level: 'bad', code: 'sweep_late', job: 'x', message: 'x is late', hint: 'Look at its logs.' }

test('jobs without a handler are one line, in the place of the first', () => {
  const findings = [unhandled('a'), late, unhandled('b'), unhandled('c', 'warn')]
  expect(findingMessages(findings, plain)).toEqual([
    '!! a, b: no live worker has their handlers',
    '!! x is late',
    '!  c: no live worker has its handler',
  ])
})

test('a single one is told as it is, and of many the first are named', () => {
  expect(findingMessages([unhandled('a')], plain)).toEqual(['!! a: no live worker has its handler'])
  const many = Array.from({ length: 12 }, (_, i) => unhandled(`job${i}`))
  expect(findingMessages(many, plain)).toEqual([
    '!! job0, job1, job2, job3, job4, job5, job6, job7 and 4 more: no live worker has their handlers',
  ])
})

test('what to do stands under each line', () => {
  const health = { healthy: false, findings: [unhandled('a'), unhandled('b'), late], jobs: [], workers: [] }
  expect(
    checkText(health as unknown as Health, 'pg', plain)
      .split('\n')
      .slice(1),
  ).toEqual([
    '!! a, b: no live worker has their handlers',
    '   → Start a worker that has them. A job that is gone from your code for good is forgotten by: regrow forget <job>',
    '!! x is late',
    '   → Look at its logs.',
  ])
})
