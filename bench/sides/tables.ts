// A side's tables as the server sees them: the room that they take, and statistics of what is in them.
import pg from 'pg'

async function once<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Bytes of all tables of a schema, and of their indexes. */
export async function sizeOf(url: string, schema: string): Promise<number> {
  const { rows } = await once(url, (client) =>
    client.query(
      `select sum(pg_total_relation_size(c.oid))::float8 as bytes
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind in ('r', 'm')`,
      [schema],
    ),
  )
  return Number(rows[0].bytes)
}

/**
 * Statistics as a queue has them that is in use, and everything on disk: after a fill, before a drain. Without them a peer's
 * statements are planned for empty tables.
 */
export async function settleTables(url: string): Promise<void> {
  await once(url, async (client) => {
    await client.query('vacuum (analyze)')
    await client.query('checkpoint')
  })
}
