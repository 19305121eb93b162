// The SQLSTATE of an error, in the shapes that clients give it.
import { expect, test } from 'vitest'
import { RegrowError } from '../../../src/base/errors.ts'
import { sqlState } from '../../../src/store/sql-client.ts'

const error = (more: object) => Object.assign(new Error('no'), more)

test.each([
  ['pg', error({ code: '23505' }), '23505'],
  ['Drizzle', error({ cause: error({ code: '40001' }) }), '40001'],
  ['TypeORM', error({ driverError: error({ code: '22P02' }) }), '22P02'],
  [
    'Prisma with an adapter',
    error({
      code: 'P2010',
      meta: { driverAdapterError: error({ cause: { originalCode: '23505', kind: 'postgres' } }) },
    }),
    '23505',
  ],
  ['Prisma with its engine', error({ code: 'P2010', meta: { code: '42P01', message: 'no such table' } }), '42P01'],
  ['an error of regrow that holds it', new RegrowError('store_away', 'away', '', error({ code: '57P01' })), '57P01'],
  ['a function that raises', error({ code: 'P0001' }), 'P0001'],
])('of %s', (_, thrown, state) => {
  expect(sqlState(thrown)).toBe(state)
})

const endless = error({})
Object.assign(endless, { cause: endless })

test.each([
  ['a socket', error({ code: 'EPIPE', syscall: 'write' })],
  ['a socket behind Prisma', error({ code: 'P2010', cause: error({ code: 'EPERM' }) })],
  ['Prisma itself', error({ code: 'P1001' })],
  ['an error that is its own cause', endless],
  ['what is no error', 'P0001'],
  ['nothing', null],
])('%s has none', (_, thrown) => {
  expect(sqlState(thrown)).toBeUndefined()
})
