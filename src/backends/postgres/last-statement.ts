// The last statement of a transaction and its COMMIT in one round trip: the server skips the COMMIT when the statement fails.
// Spoken through the interface that `pg` has for cursors and streams: an object that submits itself and handles what comes back.
import type { Row } from '../../store/executor.ts'
import type { PgClient } from './client.ts'

/** The part of pg's connection that is used here. Everything before `sync` is one unit: after an error nothing is executed. */
export interface PgConnection {
  parse(query: { text: string }): void
  bind(config: { values?: readonly (string | null)[] }): void
  execute(config: object): void
  sync(): void
  readonly stream?: { cork?(): void; uncork?(): void }
}

/**
 * True for pg's own client; another one, such as pg-native, has no connection that could be spoken to, and one with
 * `pipeline: true` refuses who wants to.
 */
export function commitsWithLast(client: PgClient): boolean {
  const { connection, pipeline } = client as { connection?: Partial<PgConnection>; pipeline?: boolean }
  return (
    !pipeline &&
    [connection?.parse, connection?.bind, connection?.execute, connection?.sync].every(
      (part) => typeof part === 'function',
    )
  )
}

/** Sends both, and resolves when the COMMIT was answered. */
export function lastStatement(client: PgClient, text: string, params: readonly unknown[]): Promise<{ rows: Row[] }> {
  return new Promise((resolve, reject) => {
    let failed: unknown
    const submittable = {
      submit(connection: PgConnection) {
        connection.stream?.cork?.()
        try {
          connection.parse({ text })
          connection.bind({ values: params.map((value) => (value === null ? null : String(value))) })
          connection.execute({})
          connection.parse({ text: 'commit' })
          connection.bind({})
          connection.execute({})
          connection.sync()
        } finally {
          connection.stream?.uncork?.()
        }
      },
      // Its rows tell nothing: a statement that must stop the COMMIT fails.
      handleRowDescription() {},
      handleDataRow() {},
      handlePortalSuspended() {},
      handleCommandComplete() {},
      handleEmptyQuery() {},
      handleError(error: unknown) {
        failed ??= error
        // A connection that broke sends nothing more.
        reject(error)
      },
      handleReadyForQuery() {
        if (failed === undefined) resolve({ rows: [] })
      },
    }
    client.query(submittable as never)
  })
}
