// Rules of key types (S14): a key is the same text in the page, in the check and in the ledger, for every type and value.
import assert from 'node:assert/strict'
import { alikeKeys, hostileKeys } from '../queue/keys.ts'
import type { ColumnType } from '../store-database.ts'
import type { Case } from '../suite.ts'
import { type DeclaredJob, jobName, type StoreContext, take, worker } from './context.ts'

interface KeyType {
  readonly type: 'text' | 'int' | 'bigint' | 'uuid'
  readonly column: ColumnType
  readonly values: readonly string[]
}

const control = Array.from({ length: 31 }, (_, i) => `c${String.fromCharCode(i + 1)}`)

const types: readonly KeyType[] = [
  { type: 'int', column: 'int', values: ['-2147483648', '-1', '0', '1', '9', '10', '2147483647'] },
  { type: 'int', column: 'smallint', values: ['-32768', '-1', '0', '32767'] },
  {
    type: 'bigint',
    column: 'bigint',
    values: ['-9223372036854775808', '-9007199254740993', '-1', '0', '9007199254740993', '9223372036854775807'],
  },
  { type: 'bigint', column: 'int', values: ['-2147483648', '2147483647'] },
  {
    type: 'uuid',
    column: 'uuid',
    values: [
      '00000000-0000-0000-0000-000000000000',
      '0191e8a0-7b6c-7def-8123-456789abcdef',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ],
  },
  { type: 'text', column: 'text', values: [...new Set([...hostileKeys, ...alikeKeys, ...control])] },
  { type: 'text', column: 'text_by_bytes', values: [...new Set([...hostileKeys, ...alikeKeys])] },
  { type: 'text', column: 'varchar', values: [...new Set([...hostileKeys, ...alikeKeys])] },
]

/** Walks all pages of two rows, checks what they show, takes it, and sees that it is left out then. */
async function walk(context: StoreContext, job: DeclaredJob, expected: readonly string[]): Promise<void> {
  const source = context.store.source(job)
  const found: string[] = []
  for (let after: string | null = null; ; ) {
    const page = await source.page(after, 2, 0, 5_000)
    found.push(...page.rows.map(({ key }) => key))
    assert.ok(found.length <= expected.length, `a row comes twice: ${found.at(-1)}`)
    if (page.scanned < 2) break
    assert.notEqual(page.last, after, 'the cursor moves on')
    after = page.last
  }
  assert.equal(found.length, expected.length, 'every row is on one page')
  assert.deepEqual(new Set(found), new Set(expected))
  const { pending } = await source.check(found)
  assert.deepEqual(new Set(pending.keys()), new Set(expected))
  for (const key of found) assert.equal(job.key.encode(job.key.decode(key)), key)
  await take(context, await worker(context, 'w1'), found)
  assert.deepEqual((await source.page(null, 1_000, 0, 5_000)).rows, [], 'what is live is left out')
}

export const keysCases: readonly Case<StoreContext>[] = [
  ...types.map(
    ({ type, column, values }): Case<StoreContext> => ({
      name: `keys of type ${type} in a column of type ${column} keep their text from page to claim, edge values included`,
      async run(context) {
        const rows = await context.database.create('rows', { id: column }, ['id'])
        await rows.insert(values.map((id) => ({ id })))
        const job = context.job(jobName, context.database.pending({ table: 'rows', columns: ['id'] }), type)
        await walk(context, job, values)
      },
    }),
  ),
  {
    name: 'composite keys of every type keep their text from page to claim, in the order of their columns',
    async run(context) {
      const columns = { name: 'text', tenant: 'int', big: 'bigint', ref: 'uuid' } as const
      const rows = await context.database.create('rows', columns, ['tenant', 'name', 'big', 'ref'])
      const names = [...new Set([...hostileKeys, ...alikeKeys, ...control])].filter((name) => name.length < 500)
      const ref = '0191e8a0-7b6c-7def-8123-456789abcdef'
      await rows.insert(
        [-5, 0, 7].flatMap((tenant) => names.map((name) => ({ name, tenant, big: tenant * -1_000_000_007, ref }))),
      )
      const job = context.job(
        jobName,
        context.database.pending({ table: 'rows', columns: ['name', 'tenant', 'big', 'ref'] }),
        { tenant: 'int', name: 'text', big: 'bigint', ref: 'uuid' },
      )
      const expected = [-5, 0, 7].flatMap((tenant) =>
        names.map((name) =>
          job.key.encode({
            tenant,
            name,
            big: BigInt(tenant) * -1000000007n,
            ref,
          }),
        ),
      )
      await walk(context, job, expected)
    },
  },
  {
    name: 'a composite key with a null part is passed over',
    async run(context) {
      const rows = await context.database.create('rows', { tenant: 'int', name: 'text' })
      await rows.insert([
        { tenant: 1, name: 'x' },
        { tenant: 1, name: null },
        { tenant: null, name: 'x' },
        { tenant: 2, name: 'y' },
      ])
      const query = context.database.pending({ table: 'rows', columns: ['tenant', 'name'] })
      const job = context.job(jobName, query, { tenant: 'int', name: 'text' })
      await walk(context, job, [job.key.encode({ tenant: 1, name: 'x' }), job.key.encode({ tenant: 2, name: 'y' })])
    },
  },
  {
    name: 'a column of another type than the key is refused before anything runs',
    async run(context) {
      await context.database.create('rows', { id: 'bigint' }, ['id'])
      const job = context.job(jobName, context.database.pending({ table: 'rows', columns: ['id'] }), 'uuid')
      await assert.rejects(context.store.source(job).page(null, 10, 0, 5_000), /key.*uuid.*bigint/s)
    },
  },
]
