// Code that only some processes need: one that enqueues loads none of it. Loaded once, by what begins to work, to drain or to operate.
import { once } from '../base/lazy.ts'

export const loadWorker = once(() => import('./start-worker.ts'))
export const loadDrain = once(() => import('./drain.ts'))
export const loadOperator = once(() => import('./make-operator.ts'))
