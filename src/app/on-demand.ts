// Code that only some processes need: one that enqueues loads neither. Loaded once, by what begins to work or to operate.
import { once } from '../base/lazy.ts'

export const loadWorker = once(() => import('./start-worker.ts'))
export const loadOperator = once(() => import('./make-operator.ts'))
