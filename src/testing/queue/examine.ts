// Rules of what a queue tells of itself. It is a capability: a queue without it has nothing to keep here.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { drain, hint, hints, hourMs, type QueueContext } from './context.ts'

export const examineCases: readonly Case<QueueContext>[] = [
  {
    name: 'a queue that can be examined tells plain figures, and nothing of it is changed',
    async run(context) {
      const queue = await context.open()
      if (!queue.inspection) return
      await queue.setMark({ epoch: 3, sequence: 7 })
      await queue.push([...hints(50), hint('later', { delayMs: hourMs })])
      const { server, memory, eviction, size, wakes, refused } = await queue.inspection.facts()
      assert.equal(refused, undefined, `it was refused: ${refused}`)
      if (server) assert.match(server.version, /^\d+(\.\d+)*/)
      if (memory) assert.ok(memory.used > 0 && (memory.most === null || memory.most > 0))
      if (eviction !== undefined) assert.equal(typeof eviction, 'string')
      if (size) assert.ok(size.bytes > 0 && size.hints === 51, `${size.hints} hints of 51 in ${size.bytes} bytes`)
      if (wakes !== undefined) assert.equal(typeof wakes, 'boolean')
      const count = await queue.count(['a'])
      assert.deepEqual(count.get('a'), { due: 50, delayed: 1 })
      assert.equal((await drain(queue)).length, 50)
      assert.equal((await queue.advanceMark({ epoch: 3, sequence: 7 }))?.epoch, 3)
    },
  },
]
