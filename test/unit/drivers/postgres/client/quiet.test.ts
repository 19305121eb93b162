// A connection that breaks ends nothing but itself, also one that breaks as soon as it is made.
import pg from 'pg'
import { expect, test } from 'vitest'
import { quieten } from '../../../../../src/drivers/postgres/client/client.ts'

test('a client of a pool has a listener from the moment on in which the pool has it', () => {
  const pool = new pg.Pool()
  quieten(pool)
  const client = new pg.Client()
  expect(() => client.emit('error', new Error('cut off'))).toThrow('cut off')
  pool.emit('connect', client as pg.PoolClient)
  expect(client.emit('error', new Error('cut off'))).toBe(true)
  expect(pool.emit('error', new Error('cut off'), client as pg.PoolClient)).toBe(true)
})
