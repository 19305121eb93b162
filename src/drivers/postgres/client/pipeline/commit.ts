// The last statement of a transaction and its COMMIT in one round trip: the server skips the COMMIT when the statement fails.
// Spoken through the interface that `pg` has for cursors and streams: an object that submits itself and handles what comes back.
import type { Row } from '../../../sql/client.ts'
import type { PgClient } from '../client.ts'

/** The part of pg's connection that is used here. Everything before `sync` is one unit: after an error nothing is executed. */
export interface PgConnection {
  parse(query: { text: string; name?: string }): void
  bind(config: { statement?: string; values?: readonly unknown[] }): void
  describe(what: { type: 'P'; name: string }): void
  execute(config: object): void
  close(statement: { type: 'S'; name: string }): void
  sync(): void
  sendCopyFail(why: string): void
  /** Texts of the statements that have a name, as pg keeps them. */
  readonly parsedStatements?: Readonly<Record<string, string | undefined>>
  readonly submittedNamedStatements?: Readonly<Record<string, string | undefined>>
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

const byIndex = 'regrow_by_index'
const commit = 'regrow_commit'

/** Names that are known to be prepared on a connection. */
const prepared = new WeakMap<PgClient, Set<string>>()

/** What goes before the last statement, in the same unit. */
export interface Before {
  send(connection: PgConnection): void
  /** Who hears the answers to the statement that many before it have completed; nobody: it has none that matter. */
  hearer(completed: number): PgHearer | undefined
}

/** The part of pg's Query that hears what a statement answers. */
export interface PgHearer {
  handleRowDescription(message: unknown): void
  handleDataRow(message: { readonly fields: readonly string[] }): void
  handleCommandComplete(message: unknown, connection: PgConnection): void
}

const nothingBefore: Before = { send: () => {}, hearer: () => undefined }

/**
 * Sends both, and resolves when the COMMIT was answered. With a name the statement is planned once per connection: by index,
 * since it looks for keys, and what is planned now may be used when the table is larger.
 */
export function lastStatement(
  client: PgClient,
  text: string,
  params: readonly unknown[],
  name?: string,
  before: Before = nothingBefore,
): Promise<{ rows: Row[] }> {
  const values = params.map((value) => (value === null ? null : String(value)))
  const isPrepared = (name: string) => prepared.get(client)?.has(name) === true
  return new Promise((resolve, reject) => {
    let failed: unknown
    let completed = 0
    const submittable = {
      submit(connection: PgConnection) {
        const execute = (text: string, name?: string, values?: readonly (string | null)[]) => {
          if (name === undefined) connection.parse({ text })
          else if (!isPrepared(name)) {
            // It may be there: an attempt that failed does not tell whether it got so far.
            connection.close({ type: 'S', name })
            connection.parse({ text, name })
          }
          connection.bind({ ...(name === undefined ? {} : { statement: name }), ...(values ? { values } : {}) })
          connection.execute({})
        }
        connection.stream?.cork?.()
        try {
          before.send(connection)
          if (name !== undefined) execute('set local enable_seqscan = off', byIndex)
          execute(text, name, values)
          execute('commit', name === undefined ? undefined : commit)
          connection.sync()
        } finally {
          connection.stream?.uncork?.()
        }
      },
      // Rows of the last one tell nothing: a statement that must stop the COMMIT fails.
      handleRowDescription: (message: unknown) => before.hearer(completed)?.handleRowDescription(message),
      handleDataRow: (message: { readonly fields: readonly string[] }) =>
        before.hearer(completed)?.handleDataRow(message),
      handlePortalSuspended() {},
      handleCommandComplete(message: unknown, connection: PgConnection) {
        before.hearer(completed++)?.handleCommandComplete(message, connection)
      },
      handleEmptyQuery() {
        completed++
      },
      handleCopyInResponse: (connection: PgConnection) =>
        connection.sendCopyFail('COPY has no place in ctx.tx(statement)'),
      handleCopyData() {},
      handleError(error: unknown) {
        failed ??= error
        prepared.delete(client)
        // A connection that broke sends nothing more.
        reject(error)
      },
      handleReadyForQuery() {
        if (failed !== undefined) return
        if (name !== undefined && !isPrepared(name))
          prepared.set(client, new Set([byIndex, name, commit, ...(prepared.get(client) ?? [])]))
        resolve({ rows: [] })
      },
    }
    client.query(submittable as never)
  })
}
