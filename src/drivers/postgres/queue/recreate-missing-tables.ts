// The queue's tables are a view: when somebody drops them, the next statement makes them anew, and the sweep fills them.

import type { SqlExecutor } from '../../sql/client.ts'
import { sqlState } from '../store/errors.ts'
import { hintTables } from '../store/migrations/migrate.ts'

/** Runs statements of the queue; where a table is missing, it is made and the statement is tried once more. */
export function regrown(db: SqlExecutor): SqlExecutor {
  return {
    async query(text, params) {
      try {
        return await db.query(text, params)
      } catch (error) {
        if (sqlState(error) !== '42P01') throw error
        // Others may do the same at this moment, or the role may not: the second try tells.
        for (const statement of hintTables) await db.query(statement).catch(() => {})
        return db.query(text, params)
      }
    },
  }
}
