// What doctor, why and the dry run ask of Postgres about its server and about the user's queries.
import { RegrowError } from '../../../../base/errors.ts'
import type { Job } from '../../../../job/job.ts'
import type { Diagnosis, StoreFacts } from '../../../../store/diagnosis.ts'
import type { Source } from '../../../../store/source.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'
import { schemaVersion } from '../migrations/migrate.ts'
import type { QuerySource } from '../source/source.ts'
import { newestSchema, oldestSchema, type Statements } from '../statements-by-schema.ts'
import { plannerOf } from './plan.ts'
import { costOf } from './query-cost.ts'

export function sqlDiagnosis(
  db: SqlDatabase,
  texts: () => Statements,
  source: (job: Job) => Source | QuerySource,
): Diagnosis {
  const planner = plannerOf(db, texts)
  /** One per job: a source asks for the shape of its query once. */
  const sources = new WeakMap<Job, Source | QuerySource>()
  const querySource = (job: Job): QuerySource | null => {
    const made = sources.get(job) ?? source(job)
    sources.set(job, made)
    return 'keysQuery' in made ? (made as QuerySource) : null
  }
  return {
    async facts(): Promise<StoreFacts> {
      const row = (await db.query(texts().diagnose.server)).rows[0] as Row
      return {
        user: row.user as string,
        serverVersion: Number(row.version),
        replica: row.replica === true,
        readOnly: row.read_only === true,
        schema: { found: await foundSchema(db), newest: newestSchema, oldest: oldestSchema },
        sessions: { open: Number(row.open), most: Number(row.most) },
        rightsMissing: JSON.parse((row.lacking as string | null) ?? '[]') as string[],
        connections: (await db.connections?.()) ?? null,
      }
    },
    async cost(job) {
      const made = querySource(job)
      return made && job.query ? costOf(planner, made, job) : null
    },
    held: async (job, ...page) => (await querySource(job)?.held(...page)) ?? null,
    unmet: async (job, key) => (await querySource(job)?.unmet?.(key)) ?? null,
  }
}

async function foundSchema(db: SqlDatabase): Promise<StoreFacts['schema']['found']> {
  try {
    return await schemaVersion(db)
  } catch (error) {
    if (sqlState(error) === '42501') return 'hidden'
    if (error instanceof RegrowError && error.code === 'schema_unknown') return 'unknown'
    throw error
  }
}
