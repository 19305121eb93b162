// Imports the file that imports it: declaration and handler are apart, so their types do not chase each other.
import { sql } from 'regrow'
import { app } from './app.ts'
import { invoice } from './invoice.ts'

export const order = app.job('order.ship', { key: 'uuid', pending: sql`select id from orders where shipped is null` })

export const shipOrder = order.handle(async (id, ctx) => {
  await ctx.tx((tx) => tx.query('update orders set shipped = now() where id = $1', [id]))
  return invoice.enqueue({ order: id, number: 7 })
})
