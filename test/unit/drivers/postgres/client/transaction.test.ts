// Whatever happens in a transaction, and around its end, its connection is used again only when the transaction is known to be over (M44).
import { expect, test } from 'vitest'
import { RegrowError } from '../../../../../src/base/errors.ts'
import type { PgClient } from '../../../../../src/drivers/postgres/client/client.ts'
import type { ConnectionWatch } from '../../../../../src/drivers/postgres/client/connection-watch.ts'
import { type TransactionTerms, transaction } from '../../../../../src/drivers/postgres/client/transaction.ts'
import { hostileValues, revoked } from '../../../../hostile-values.ts'

/** A client that notes what it is told, and how it was given back; `refuse` may throw for a text. */
function client(refuse: (text: string) => void = () => {}) {
  const said: string[] = []
  const released: unknown[] = []
  const own = {
    query: (text: string) => {
      said.push(text)
      refuse(text)
      return Promise.resolve({ rows: [], command: text.toUpperCase() })
    },
    release: (broken: unknown) => released.push(broken),
  } as unknown as PgClient
  return { said, released, pool: { connect: async () => own } }
}

/** Runs one statement in a transaction and throws `thrown`; answers what came out. */
async function thrownBy(
  { pool }: ReturnType<typeof client>,
  thrown: unknown,
  terms?: TransactionTerms,
): Promise<{ readonly out: unknown }> {
  const work = async (tx: { query(text: string): Promise<unknown> }) => {
    await tx.query('update things')
    throw thrown
  }
  return transaction(pool, work, terms).then(
    () => expect.unreachable(),
    (out: unknown) => ({ out }),
  )
}

test.each(hostileValues)('$what is thrown as it is, after the rollback', async ({ make }) => {
  const on = client()
  const thrown = make()
  const { out } = await thrownBy(on, thrown)
  expect(Object.is(out, thrown)).toBe(true)
  expect(on.said).toEqual(['begin', 'update things', 'rollback'])
  expect(on.released).toEqual([false])
})

test('a transaction that has committed gives its connection back', async () => {
  const on = client()
  await transaction(on.pool, (tx) => tx.query('update things'))
  expect([on.said, on.released]).toEqual([['begin', 'update things', 'commit'], [false]])
})

test('a rollback that fails, or that the client refuses to send, closes the connection', async () => {
  for (const refusal of [new Error('away'), revoked({})]) {
    const on = client((text) => {
      if (text === 'rollback') throw refusal
    })
    expect(await thrownBy(on, new Error('no'))).toMatchObject({ out: { code: 'store_away' } })
    expect(on.released).toEqual([true])
  }
})

test('a mistake on the way to the rollback closes the connection', async () => {
  const on = client()
  const watch = {
    close() {
      throw new Error('a mistake')
    },
  } as unknown as ConnectionWatch
  await thrownBy(on, new RegrowError('deadline', 'ledger.settle did not answer', ''), { watch })
  expect(on.released).toEqual([true])
})

test('S4: a text that ended the transaction and began another one is found by its answer', async () => {
  const { pool } = client()
  const own = await pool.connect()
  const { query } = own
  const tricky = async (text: string) =>
    text === 'tricky' ? [{ command: 'COMMIT' }, { command: 'BEGIN' }] : query(text)
  Object.assign(own, { query: tricky })
  await expect(transaction(pool, (tx) => tx.query('tricky'))).rejects.toMatchObject({ code: 'tx_control' })
})
