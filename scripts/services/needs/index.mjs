// Every service the tests may ask for, so that one apt-get can fetch all that is missing. A new one is one file here.

import { pgbouncerNeed } from './pgbouncer.mjs'
import { postgresNeed } from './postgres.mjs'
import { redisNeed } from './redis.mjs'

export const allNeeds = [postgresNeed, pgbouncerNeed, redisNeed]
