// Places that lanes share: one whose work hangs delays itself alone, and quick ones always find a place.
import { expect, test } from 'vitest'
import { Lanes } from '../../../src/base/lanes.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const places = { what: 'The check', most: 6, kept: 2, quick: 2 }

function scene(options = places) {
  const clock = new VirtualClock()
  const lanes = new Lanes(clock, options)
  const counts = { running: 0, most: 0, starts: new Map<string, number>() }
  /** Work that ends after `ms`, or when it is told to. */
  const run = (lane: string, ms: number, choice?: { again: boolean }) =>
    lanes.run(
      lane,
      async (signal) => {
        counts.starts.set(lane, (counts.starts.get(lane) ?? 0) + 1)
        counts.most = Math.max(counts.most, ++counts.running)
        await clock.sleep(ms, signal)
        counts.running--
        if (signal.aborted) throw new Error('cancelled')
        return clock.now()
      },
      choice,
    )
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
  return { clock, lanes, counts, run, over }
}

const hour = 3_600_000

test('forty lanes that hang leave a quick one waiting for a few seconds at first, and then not at all', async () => {
  const { clock, counts, run, over } = scene()
  for (let n = 0; n < 40; n++) void run(`hung ${n}`, hour).catch(() => {})
  expect(await over(run('well', 5))).toBeLessThan(5_500)
  for (let n = 0; n < 20; n++) {
    const since = clock.now()
    expect((await over(run('well', 5))) - since).toBe(5)
    await over(clock.sleep(700))
  }
  expect(counts.most).toBeLessThanOrEqual(places.most)
})

test('work that has to leave its place runs again among the slow, unless its caller wants to do that itself', async () => {
  const { counts, run, over } = scene({ ...places, most: 3 })
  void run('long', 2_000)
  await over(run('well', 300))
  expect(counts.starts.get('well')).toBe(2)
  void run('hung', hour).catch(() => {})
  const later = run('other', 300, { again: false })
  await expect(over(later)).rejects.toThrow('cancelled')
})

test('slow work is cancelled after its limit; what waits behind it for too long is rejected, and leaves the line', async () => {
  const { clock, lanes, run, over } = scene({ ...places, most: 3 })
  const first = run('hung', hour)
  await over(clock.sleep(300))
  expect(lanes.isSlow('hung')).toBe(true)
  await expect(over(run('hung', 5))).rejects.toMatchObject({
    code: 'deadline',
    message: expect.stringMatching(
      /^The check of "hung" waited 8 s for a connection: earlier ones are slow.*→ Is a table locked/s,
    ),
  })
  await expect(over(first)).rejects.toThrow('cancelled')
  expect(clock.now()).toBe(15_000)
  // Free again: it is among the quick ones as soon as it was quick once.
  await over(run('hung', 5))
  expect(lanes.isSlow('hung')).toBe(false)
})

test('where there is one place, each takes its turn', async () => {
  const { counts, run, over } = scene({ what: 'The check', most: 1, kept: 1, quick: 1 })
  await over(Promise.all([run('a', 400), run('b', 5), run('c', 5)]))
  expect(counts.most).toBe(1)
})
