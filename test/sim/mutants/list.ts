// Every bug that is planted, by the names of FAILURES §4.4 where it has one. What does not exist in this code is not here: M6, M10
// and M17 have nothing to change (no session locks, no incremental sweep, no lock of uniqueness), nor has M7 (no time of a
// process is compared with the store's); M15, M16 come with schedules, M22, M23 with a queue on Redis.
import { ofTheLowerArrow } from './lower.ts'
import type { Mutant } from './mutant.ts'
import { ofTheStatements } from './statements.ts'
import { ofTheWorker } from './worker.ts'

export const mutants: readonly Mutant[] = [...ofTheWorker, ...ofTheLowerArrow, ...ofTheStatements]
