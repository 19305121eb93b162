// Which queues workers use, by the marks in the store and by when the workers that live now have started: an app that moved to another
// queue is not unwell because of the mark that its old workers left.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { status } from '../../../src/operate/status.ts'
import type { WorkerRow } from '../../../src/store/status.ts'

const at = new Date('2026-03-01T12:00:00Z')
const ago = (seconds: number) => new Date(at.getTime() - seconds * 1_000)

/** What `status` tells of the queue, asked by an app whose queue is `redis`. */
async function seen(marks: Readonly<Record<string, number>>, workers: readonly { started: number; live?: boolean }[]) {
  const { queue } = await status({
    clock: systemClock,
    queue: { name: 'redis', shared: true, down: false, count: async () => new Map() },
    jobs: [],
    leaseMs: 15_000,
    status: {
      jobs: async () => ({ at, jobs: [], pulse: { missing: false, setBack: null } }),
      workers: async () =>
        workers.map(
          ({ started, live = true }) =>
            ({ live, startedAt: ago(started), jobs: [] as string[] }) as unknown as WorkerRow,
        ),
      queues: async () => Object.entries(marks).map(([name, looked]) => ({ name, lookedAt: ago(looked) })),
    },
  })
  return queue.unseen
}

test('the mark of a queue that workers used before the live ones started is old', async () => {
  expect(await seen({ redis: 1, postgres: 20 }, [{ started: 15 }])).toEqual([])
  expect(await seen({ redis: 1, postgres: 20 }, [{ started: 15 }, { started: 300, live: false }])).toEqual([])
})

test('a queue that somebody looked at since is in use, while old and new workers live', async () => {
  expect(await seen({ redis: 1, postgres: 2 }, [{ started: 300 }, { started: 15 }])).toEqual(['postgres'])
  // A worker that starts right after another one has looked does not look at once.
  expect(await seen({ redis: 1, postgres: 15.3 }, [{ started: 15 }])).toEqual(['postgres'])
})

test('the last queue that was looked at is in use, however long ago: nobody looks at one that is down', async () => {
  expect(await seen({ postgres: 7_200 }, [{ started: 60 }])).toEqual(['postgres'])
  expect(await seen({ postgres: 7_200 }, [])).toEqual(['postgres'])
})

test('without a live worker a minute decides', async () => {
  expect(await seen({ redis: 1, postgres: 20 }, [])).toEqual(['postgres'])
  expect(await seen({ redis: 1, postgres: 90 }, [])).toEqual([])
})
