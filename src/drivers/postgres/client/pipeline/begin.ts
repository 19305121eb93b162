// BEGIN and the first statement of a transaction in one round trip: everything up to the statement's own Sync is one unit, so a
// statement never runs without the BEGIN before it. Spoken through pg's own Query, whose answer is that of the statement alone.
import type { PgClient } from '../client.ts'
import { commitsWithLast, type PgConnection } from './commit.ts'

/** The part of pg's Query that is used here. */
interface PgQuery {
  name?: string | undefined
  submit(connection: PgConnection): unknown
  handleCommandComplete(message: unknown, connection: PgConnection): void
}

interface Config {
  readonly text?: unknown
  readonly values?: readonly unknown[]
  readonly [other: string]: unknown
}

type QueryClass = new (
  statement: string | object,
  values: unknown,
  callback: (error: unknown, result: unknown) => void,
) => PgQuery

/** Sends both and answers the statement's result; undefined where it cannot: nothing was sent then. */
export function firstStatement(
  client: PgClient,
  args: readonly unknown[],
  begin = 'begin',
): Promise<unknown> | undefined {
  const config = isPlain(args) ? undefined : configOf(args)
  const text = config ? config.text : args[0]
  const Query = (client.constructor as { Query?: QueryClass }).Query
  if (config === null || !Query || !commitsWithLast(client)) return undefined
  const answer = new Promise((resolve, reject) => {
    // Passes the text and its values as they are: pg would copy a config object.
    const query = new Query(config ?? (args[0] as string), config ? undefined : args[1], (error, result) =>
      error ? reject(error) : resolve(result),
    )
    const { name, submit, handleCommandComplete: complete } = query
    query.submit = (connection) => {
      // Two texts by one name: pg refuses the second before it sends anything.
      const known = name && (connection.parsedStatements?.[name] ?? connection.submittedNamedStatements?.[name])
      if (known && known !== text) return submit.call(query, connection)
      connection.stream?.cork?.()
      try {
        connection.parse({ text: begin })
        connection.bind({})
        connection.execute({})
        return submit.call(query, connection)
      } finally {
        connection.stream?.uncork?.()
        // Until BEGIN is over, what the server has parsed is not this statement: pg notes the name of who is in turn.
        query.name = undefined
      }
    }
    let begun = false
    query.handleCommandComplete = (message, connection) => {
      if (begun) return complete.call(query, message, connection)
      begun = true
      query.name = name
    }
    client.query(query as never)
  })
  // As pg does: captured in a reaction of the promise, the stack includes the caller that awaits it.
  return answer.catch((error) => {
    if (error instanceof Error) Error.captureStackTrace(error)
    throw error
  })
}

/** A text with values, the commonest form. */
const isPlain = ([statement, values, callback]: readonly unknown[]) =>
  typeof statement === 'string' &&
  statement !== '' &&
  Array.isArray(values) &&
  values.length > 0 &&
  callback === undefined

/** A statement with values or a name; null for one that needs a round trip of its own. */
function configOf([statement, values, callback]: readonly unknown[]): Config | null {
  if (callback !== undefined) return null
  const given = typeof statement === 'string' ? { text: statement } : (statement as Record<string, unknown> | null)
  const config: Config = {
    ...given,
    ...(values === undefined ? {} : { values: values as unknown[] }),
  }
  const usable =
    typeof config.text === 'string' &&
    config.text !== '' &&
    (config.values === undefined || Array.isArray(config.values)) &&
    (Boolean(config.name) || (config.values ?? []).length > 0) &&
    ['rows', 'submit', 'callback'].every((name) => config[name] === undefined)
  return usable ? config : null
}
