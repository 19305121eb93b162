// Every bug that is planted. M1 … are the mistakes that a job queue can make, by the numbers that docs/invariants.md and the sources
// use. Some have nothing here that could be changed: M6, M10 and M17 (there are no session locks, no incremental sweeps and no
// lock of uniqueness), M7 (no time of a process is compared with the store's); M9 reads as M42.
import { ofCalls } from './calls.ts'
import { ofTheLowerArrow } from './lower.ts'
import type { Mutant } from './mutant.ts'
import { ofPostgres } from './postgres.ts'
import { ofRedis } from './redis.ts'
import { ofSchedules } from './schedules.ts'
import { ofTheStatements } from './statements.ts'
import { ofTheWorker } from './worker.ts'

export const mutants: readonly Mutant[] = [
  ...ofTheWorker,
  ...ofTheLowerArrow,
  ...ofTheStatements,
  ...ofRedis,
  ...ofPostgres,
  ...ofSchedules,
  ...ofCalls,
]
