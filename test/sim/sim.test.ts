// The bounded part of the long run (`npm run sim`): forty histories of the real core in virtual time.
import { expect, test } from 'vitest'
import { history } from './history.ts'
import { Report } from './report.ts'
import { judge } from './verdict.ts'

/** `REGROW_SEEDS=1-40`: other seeds. */
const [first = 1, last = 40] = (process.env.REGROW_SEEDS ?? '1-40').split('-').map(Number)

test(`nothing is lost or doubled in the histories of seeds ${first} to ${last}, and every check could fail`, async () => {
  const report = new Report(last - first + 1)
  for (let seed = first; seed <= last; seed++) report.add(await judge(seed))
  console.log(report.lines().join('\n'))
  expect(report.wrong).toEqual([])
  expect(report.idle()).toEqual([])
}, 300_000)

test('a seed replays to the same hash, and another seed has another', async () => {
  const [one, again, other] = [await history(7), await history(7), await history(8)]
  expect(again.hash).toBe(one.hash)
  expect(other.hash).not.toBe(one.hash)
})

test('the story of a history tells calls, answers, faults and events in words', async () => {
  const { story } = await history(3, { keep: 100_000 })
  const text = story.join('\n')
  for (const word of ['STORM', 'CALM', '→ ledger.take', '← ledger.take', '* job.settled', 'user     write'])
    expect(text).toContain(word)
})
