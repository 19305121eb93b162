// A fresh hint whose row is not there yet is looked at after 0.2, 1 and 5 s, then forgotten.
import { expect, test } from 'vitest'
import { LookAgain } from '../../../src/worker/recheck.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const hint = (key: string) => ({ job: 'a', key, fresh: true })

test('three looks, 0.2, 1 and 5 s apart, then none', async () => {
  const clock = new VirtualClock()
  const lookAgain = new LookAgain(clock)
  const looks: number[] = []
  lookAgain.add(hint('k'))
  while (lookAgain.nextMs() < Number.POSITIVE_INFINITY) {
    expect(lookAgain.due(10)).toEqual([])
    await clock.pass(lookAgain.nextMs())
    const due = lookAgain.due(10)
    expect(due).toEqual([hint('k')])
    looks.push(clock.now())
    for (const each of due) lookAgain.add(each)
  }
  expect(looks).toEqual([200, 1_200, 6_200])
})

test('no more are due than there is room for, the longest waiting first', async () => {
  const clock = new VirtualClock()
  const lookAgain = new LookAgain(clock)
  for (const key of ['a', 'b', 'c']) {
    lookAgain.add(hint(key))
    await clock.pass(1)
  }
  await clock.pass(500)
  expect(lookAgain.due(2)).toEqual([hint('a'), hint('b')])
  expect(lookAgain.due(0)).toEqual([])
  expect(lookAgain.due(2)).toEqual([hint('c')])
})

test('a hint of the same key that was pushed anew has its own three looks', async () => {
  const clock = new VirtualClock()
  const lookAgain = new LookAgain(clock)
  lookAgain.add(hint('k'))
  await clock.pass(200)
  const [again] = lookAgain.due(1)
  lookAgain.add(again as ReturnType<typeof hint>)
  lookAgain.add(hint('k'))
  expect(lookAgain.nextMs()).toBe(200)
})

test('hints of a job without room wait, those of the others do not wait for them; nothing is due of it before it has room', async () => {
  const clock = new VirtualClock()
  const lookAgain = new LookAgain(clock)
  for (const key of ['1', '2', '3']) {
    lookAgain.add({ job: 'full', key, fresh: true })
    await clock.pass(10)
  }
  lookAgain.add({ job: 'other', key: '4', fresh: true })
  await clock.pass(50)
  let room = 0
  const roomOf = (job: string) => (job === 'full' ? room : 10)
  expect(lookAgain.nextMs(roomOf)).toBe(150)
  await clock.pass(150)
  expect(lookAgain.due(10, roomOf).map(({ key }) => key)).toEqual(['4'])
  expect(lookAgain.nextMs(roomOf)).toBe(Number.POSITIVE_INFINITY)
  room = 2
  expect(lookAgain.nextMs(roomOf)).toBe(0)
  expect(lookAgain.due(10, roomOf).map(({ key }) => key)).toEqual(['1', '2'])
  expect(lookAgain.due(10, roomOf).map(({ key }) => key)).toEqual(['3'])
})
