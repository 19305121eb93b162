// The queue in this process's memory keeps every rule of a queue.
import { memory } from '../../src/drivers/memory/index.ts'
import { queueSuite } from '../../src/testing/index.ts'
import { declareCases } from './declare-cases.ts'

declareCases(queueSuite({ open: (bounds, surroundings) => memory(bounds).open(surroundings) }))
