// The truth is the primary: a standby is refused at the start, and taken when it has been promoted.

import { statSync } from 'node:fs'
import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { regrow } from 'regrow'
import { operate } from 'regrow/operate'
import { postgres } from 'regrow/postgres'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startPostgres } from '../../tools/services/index.ts'

test('a standby is refused with the cure, and accepted after its promotion', async () => {
  const server = await startPostgres({ settings: { fsync: false } })
  try {
    await server.stop()
    const signal = join(server.dataDir as string, 'standby.signal')
    await writeFile(signal, '')
    const { uid, gid } = statSync(server.dataDir as string)
    await chown(signal, uid, gid)
    await server.start()
    const app = regrow({ store: postgres(server.url()) })
    const mail = app.job('mail.send', { input: z.string() })
    await expect(mail.enqueue('ada')).rejects.toMatchObject({
      code: 'read_only',
      message: expect.stringContaining('The store is a replica'),
    })
    const { healthy, findings } = await operate(app).doctor()
    expect(healthy).toBe(false)
    expect(findings.map(({ code }) => code)).toEqual(['read_only', 'schema_old'])
    expect(findings[0]?.message).toBe('The store is a replica')
    const client = new pg.Client({ connectionString: server.url() })
    await client.connect()
    await client.query('select pg_promote()')
    await client.end()
    expect(await mail.enqueue('ada')).toMatchObject({ status: 'added' })
    await app.close()
  } finally {
    await server.close()
  }
})
