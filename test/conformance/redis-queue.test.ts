// The queue in Redis keeps every rule of a queue, through node-redis.
import { redis } from '../../src/drivers/redis/index.ts'
import { queueSuite } from '../../src/testing/index.ts'
import { freshRedis } from '../services/redis.ts'
import { declareCases } from './declare-cases.ts'

const { url, namespace } = freshRedis('queue')
const identity = async () => 'the store of the suite'

declareCases(
  queueSuite({
    open: (bounds, surroundings) => redis(url, { namespace, ...bounds }).open({ ...surroundings, identity }),
  }),
)
