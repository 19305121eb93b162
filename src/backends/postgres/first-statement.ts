// BEGIN and the first statement of a transaction in one round trip: everything up to the statement's own Sync is one unit, so a
// statement never runs without the BEGIN before it. Spoken through pg's own Query, whose answer is that of the statement alone.
import type { PgClient } from './client.ts'
import { commitsWithLast, type PgConnection } from './last-statement.ts'

/** The part of pg's Query that is used here. */
interface PgQuery {
  submit(connection: PgConnection): unknown
  handleCommandComplete(message: unknown, connection: PgConnection): void
}

type QueryClass = new (config: object, values: unknown, callback: (error: unknown, result: unknown) => void) => PgQuery

/** Sends both and answers the statement's result; undefined where it cannot: nothing was sent then. */
export function firstStatement(client: PgClient, args: readonly unknown[]): Promise<unknown> | undefined {
  const config = configOf(args)
  const Query = (client.constructor as { Query?: QueryClass }).Query
  if (!config || !Query || !commitsWithLast(client)) return undefined
  return new Promise((resolve, reject) => {
    const query = new Query(config, undefined, (error, result) => {
      if (!error) return resolve(result)
      // One that leads back to who sent it, as pg does it.
      if (error instanceof Error) Error.captureStackTrace(error)
      reject(error)
    })
    const [submit, complete] = [query.submit, query.handleCommandComplete]
    query.submit = (connection) => {
      connection.stream?.cork?.()
      try {
        connection.parse({ text: 'begin' })
        connection.bind({})
        connection.execute({})
        return submit.call(query, connection)
      } finally {
        connection.stream?.uncork?.()
      }
    }
    let begun = false
    query.handleCommandComplete = (message, connection) => {
      if (begun) return complete.call(query, message, connection)
      begun = true
    }
    client.query(query as never)
  })
}

/** A statement with values, and nothing that needs a round trip or a name of its own. */
function configOf([statement, values, callback]: readonly unknown[]): object | undefined {
  if (callback !== undefined) return undefined
  const given = typeof statement === 'string' ? { text: statement } : (statement as Record<string, unknown> | null)
  const config = { ...given, ...(values === undefined ? {} : { values }) } as Record<string, unknown>
  const usable =
    typeof config.text === 'string' &&
    config.text !== '' &&
    Array.isArray(config.values) &&
    config.values.length > 0 &&
    ['name', 'rows', 'submit', 'callback'].every((name) => config[name] === undefined)
  return usable ? config : undefined
}
