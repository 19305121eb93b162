// Which quarantined keys, as the statements that read them take it.
import type { QuarantineWhere } from '../../../../store/quarantine.ts'

/** The parameters of a filter, as list-quarantine.sql names them. */
export const whereParams = (job: string | null, where: QuarantineWhere | undefined) => [
  job,
  where?.error ?? null,
  where?.sinceMs ?? null,
  where?.beforeMs ?? null,
  where?.version ?? null,
]
