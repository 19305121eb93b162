// The heap gives the least item first, however it was filled.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Heap } from '../../../src/base/heap.ts'

test('any mix of pushes and pops gives what a sorted list gives', () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: -50, max: 50 }), fc.constant('pop' as const)), { maxLength: 200 })
  fc.assert(
    fc.property(steps, (commands) => {
      const heap = new Heap<number>((a, b) => a < b)
      const model: number[] = []
      for (const command of commands) {
        if (command === 'pop') expect(heap.pop()).toBe(model.shift())
        else {
          heap.push(command)
          model.push(command)
          model.sort((a, b) => a - b)
        }
        expect(heap.peek()).toBe(model[0])
        expect(heap.size).toBe(model.length)
      }
    }),
  )
})
