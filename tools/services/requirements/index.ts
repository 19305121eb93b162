// Every server that tests may ask for, so that one apt-get can install all that is missing. A new one is one file here.

import { type Provision, provision } from '../provision.ts'
import { pgbouncerRequirement } from './pgbouncer.ts'
import { postgresRequirement } from './postgres.ts'
import { redisRequirement } from './redis.ts'

const requirements = { postgres: postgresRequirement, pgbouncer: pgbouncerRequirement, redis: redisRequirement }

/** Finds or installs what that server runs on. */
export function provisionServer(name: keyof typeof requirements): Promise<Provision> {
  return provision(requirements[name], Object.values(requirements))
}
