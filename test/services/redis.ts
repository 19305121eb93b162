// A namespace of one's own on the shared Redis server, so that test files cannot see each other.

import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'

export interface FreshRedis {
  readonly url: string
  /** Nobody else's. */
  readonly namespace: string
}

/** The shared server, and a namespace that is not in use. The name only helps reading keys; a random suffix is added. */
export function freshRedis(name = 'test'): FreshRedis {
  return { url: inject('redisUrl'), namespace: `${name}-${randomUUID().slice(0, 8)}` }
}
