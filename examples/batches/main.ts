// Batches: one call for many keys. Of sixteen parcels one makes every call throw that it is in, and one is refused at first.
// The bad one is cornered in halves and ends in quarantine; all others are sent.
// Start it with: node --import jiti/register examples/batches/main.ts

import assert from 'node:assert/strict'
import { PGlite } from '@electric-sql/pglite'
import { regrow, sql } from 'regrow'
import { operate } from 'regrow/operate'
import { pglite } from 'regrow/pglite'

const db = new PGlite()
await db.exec(`
  create table parcels (id int primary key, state text not null default 'packed');
  insert into parcels (id) select generate_series(1, 16)`)

const bad = 3
const heavy = 11
let heavyRefused = 0

/** A pretended carrier. It takes a list or nothing: an address that it cannot read spoils the list. Returns the refused. */
async function sendAll(ids: readonly number[]): Promise<number[]> {
  if (ids.includes(bad)) throw new Error('400: there is an address that cannot be read')
  return ids.includes(heavy) && heavyRefused++ === 0 ? [heavy] : []
}

const app = regrow({ store: pglite(db) })
const ship = app.job('parcel.ship', {
  key: 'int',
  pending: sql`select id from parcels where state = 'packed'`,
  retry: { attempts: 6, delay: '0ms', backoff: 'fixed' },
  batch: 100,
})

const calls: number[][] = []
const handler = ship.handle(async (ids, ctx) => {
  calls.push([...ids])
  console.log(`call of ${ids.length}: ${ids.join(' ')}`)
  const refused = await sendAll(ids) // when it throws, the keys of this call fail, and come back in halves
  for (const id of refused) ctx.fail(id, new Error('too heavy for today')) // only this one fails
  const sent = ids.filter((id) => !refused.includes(id))
  await ctx.tx(sql`update parcels set state = 'sent' where id = any(${sql.array(sent)})`)
})

await ship.enqueueMany(Array.from({ length: 16 }, (_, i) => i + 1))
await app.drain({ handlers: [handler] })

const { rows: left } = await db.query(`select id from parcels where state = 'packed'`)
const quarantined = (await operate(app).quarantine.list()).keys
await app.close()
await db.close()

console.log(`in quarantine: ${quarantined.map(({ key, failures }) => `${key} after ${failures} attempts`).join()}`)
assert.deepEqual(left, [{ id: bad }], 'everything else is sent')
assert.deepEqual(
  quarantined.map(({ key, failures }) => ({ key, failures })),
  [{ key: String(bad), failures: 6 }],
  'only the bad one is in quarantine',
)
const sizes = calls.filter((ids) => ids.includes(bad)).map((ids) => ids.length)
assert.equal(sizes.at(-1), 1, 'its last attempt is alone')
for (const [i, size] of sizes.entries()) {
  const before = sizes[i - 1]
  if (before !== undefined) assert.ok(size <= Math.ceil(before / 2), 'each attempt has half of the keys at most')
}
assert.equal(heavyRefused, 2, 'what ctx.fail marked was tried again')
console.log(`calls with the bad one had ${sizes.join(', ')} keys; the other fifteen parcels are sent`)
