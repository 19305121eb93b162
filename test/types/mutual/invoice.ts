// The other half of the circle.
import { sql } from 'regrow'
import { app } from './app.ts'
import { order } from './order.ts'

export const invoice = app.job('invoice.send', {
  key: { order: 'uuid', number: 'int' },
  pending: sql`select "order", number from invoices where sent is null`,
  batch: 100,
})

export const sendInvoice = invoice.handle(async (keys) => {
  for (const key of keys) await order.enqueue(key.order, { jitter: '5m' })
})
