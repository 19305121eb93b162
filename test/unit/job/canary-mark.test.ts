// The canary compared: what the store knew before against what the queue shows now.
import { expect, test } from 'vitest'
import { difference } from '../../../src/job/canary-mark.ts'

const known = { epoch: 5, sequence: 10 }

test.each([
  ['is the same', { epoch: 5, sequence: 10 }, null],
  ['was raised since', { epoch: 5, sequence: 11 }, null],
  ['is not there', null, 'missing'],
  ['is of an older epoch', { epoch: 4, sequence: 99 }, 'foreign'],
  ['is of a newer epoch', { epoch: 6, sequence: 0 }, 'foreign'],
  ['is that of an old copy (M11)', { epoch: 5, sequence: 9 }, 'behind'],
] as const)('a mark that %s', (_, found, how) => {
  expect(difference(known, found)).toBe(how)
})
