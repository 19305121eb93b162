// What the compiler knows of a job: the key's type, the input's two types, and which options belong to which kind.
// Checked by `tsc`; vitest only runs it, and a declaration opens nothing.
import type { BatchContext, Context, EnqueueReport, EnqueueResult, Handler, InputItem, Transaction } from 'regrow'
import { regrow, sql } from 'regrow'
import { type PgliteTransaction, pglite } from 'regrow/pglite'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const app = regrow({ store: pglite() })
const pending = sql`select id from things`

test('the key has its own type in handler and enqueue', () => {
  const text = app.job('text', { pending })
  expectTypeOf(text.handle).parameter(0).parameter(0).toEqualTypeOf<string>()
  expectTypeOf(text.enqueue).parameter(0).toEqualTypeOf<string>()

  const int = app.job('int', { key: 'int', pending })
  expectTypeOf(int.handle).parameter(0).parameter(0).toEqualTypeOf<number>()
  expectTypeOf(int.enqueue).parameter(0).toEqualTypeOf<number | string>()

  const bigint = app.job('bigint', { key: 'bigint', pending })
  expectTypeOf(bigint.handle).parameter(0).parameter(0).toEqualTypeOf<bigint>()
  expectTypeOf(bigint.enqueue).parameter(0).toEqualTypeOf<bigint | number | string>()

  const uuid = app.job('uuid', { key: 'uuid', pending })
  expectTypeOf(uuid.handle).parameter(0).parameter(0).toEqualTypeOf<string>()
  expectTypeOf(uuid.enqueue).parameter(0).toEqualTypeOf<string>()

  const both = app.job('both', { key: { tenant: 'uuid', n: 'bigint', place: 'int' }, pending })
  type Out = { readonly tenant: string; readonly n: bigint; readonly place: number }
  type In = { readonly tenant: string; readonly n: bigint | number | string; readonly place: number | string }
  expectTypeOf(both.handle).parameter(0).parameter(0).toEqualTypeOf<Out>()
  expectTypeOf(both.enqueue).parameter(0).toEqualTypeOf<In>()
  expectTypeOf(both.enqueueMany).parameter(0).toEqualTypeOf<Iterable<In>>()
  expectTypeOf(both.enqueue).returns.resolves.toEqualTypeOf<EnqueueResult>()
  expectTypeOf(both.enqueueMany).returns.resolves.toEqualTypeOf<EnqueueReport>()

  const wrong = () => {
    // @ts-expect-error an object is no bigint
    void bigint.enqueue({})
    // @ts-expect-error a number is no uuid
    void uuid.enqueue(7)
    // @ts-expect-error a column is missing
    void both.enqueue({ tenant: 'x', n: 1n })
    // @ts-expect-error there is no such type of key
    app.job('wrong', { key: 'number', pending })
  }
  expectTypeOf(wrong).returns.toBeVoid()
})

test('an inline run has the types of its key or input', () => {
  app.job('inline.bigint', {
    key: 'bigint',
    pending,
    run(id, ctx) {
      expectTypeOf(id).toEqualTypeOf<bigint>()
      expectTypeOf(ctx).toEqualTypeOf<Context<PgliteTransaction>>()
    },
  })
  app.job('inline.text', {
    pending,
    run(id) {
      expectTypeOf(id).toEqualTypeOf<string>()
    },
  })
  const annotated = (id: string) => id
  app.job('inline.annotated', { pending, run: annotated })
  app.job('inline.annotated.uuid', { key: 'uuid', pending, run: annotated })
  const wrong = () => {
    // @ts-expect-error the key is a bigint, whatever the handler says
    app.job('wrong', { key: 'bigint', pending, run: annotated })
  }
  expectTypeOf(wrong).returns.toBeVoid()
  app.job('inline.composite', {
    key: { a: 'text', b: 'int' },
    pending,
    run: (key) => {
      expectTypeOf(key).toEqualTypeOf<{ readonly a: string; readonly b: number }>()
    },
  })
  app.job('inline.input', {
    input: z.object({ at: z.string().transform((text) => new Date(text)) }),
    run({ at }) {
      expectTypeOf(at).toEqualTypeOf<Date>()
    },
  })
})

test('with a batch the handler gets an array, inline or by handle; without one it gets one key', () => {
  type Key = { readonly tenant: string; readonly n: bigint }
  const key = { tenant: 'uuid', n: 'bigint' } as const
  const rows = app.job('batch.rows', {
    key,
    run: (keys, ctx) => {
      expectTypeOf(keys).toEqualTypeOf<Key[]>()
      expectTypeOf(ctx).toEqualTypeOf<BatchContext<Key, PgliteTransaction>>()
    },
    pending,
    batch: 10,
  })
  expectTypeOf(rows.handle).parameter(0).parameters.toEqualTypeOf<[Key[], BatchContext<Key, PgliteTransaction>]>()
  expectTypeOf(rows.enqueue).parameter(0).toExtend<{ tenant: string }>()

  const input = z.object({ at: z.string().transform((text) => new Date(text)) })
  const inputs = app.job('batch.inputs', {
    input,
    batch: 10,
    run: (items, ctx) => {
      expectTypeOf(items).toEqualTypeOf<InputItem<{ at: Date }>[]>()
      expectTypeOf(ctx).toEqualTypeOf<BatchContext<string, PgliteTransaction>>()
    },
  })
  expectTypeOf(inputs.handle).parameter(0).parameter(0).toEqualTypeOf<InputItem<{ at: Date }>[]>()

  // A number that is known only when it runs, and none.
  const size: number = [10].length
  expectTypeOf(app.job('batch.size', { pending, batch: size }).handle)
    .parameter(0)
    .parameter(0)
    .toEqualTypeOf<string[]>()
  expectTypeOf(app.job('no.batch', { pending, batch: undefined }).handle)
    .parameter(0)
    .parameter(0)
    .toEqualTypeOf<string>()

  const wrong = () => {
    // @ts-expect-error a batch is an array of keys
    app.job('wrong', { pending, batch: 10, run: (id: string) => id })
    // @ts-expect-error without a batch it is one key
    app.job('wrong', { pending, run: (ids: string[]) => ids })
    // @ts-expect-error a batch has attempts of each key, not one
    app.job('wrong', { pending, batch: 10, run: (_, ctx) => ctx.attempt })
    // @ts-expect-error each slot is a call by itself
    app.job('wrong', { schedule: { every: '1h' }, batch: 10 })
    // @ts-expect-error a number
    app.job('wrong', { pending, batch: true })
  }
  expectTypeOf(wrong).returns.toBeVoid()
})

test('a schema with a transform has one type when it is enqueued and another when it is handled', () => {
  const zod = app.job('zod', { input: z.object({ n: z.string().transform(Number), tag: z.string().default('x') }) })
  expectTypeOf(zod.enqueue).parameter(0).toEqualTypeOf<{ n: string; tag?: string | undefined }>()
  expectTypeOf(zod.handle).parameter(0).parameter(0).toEqualTypeOf<{ n: number; tag: string }>()

  const valibot = app.job('valibot', { input: v.object({ n: v.pipe(v.string(), v.transform(Number)) }) })
  expectTypeOf(valibot.enqueue).parameter(0).toEqualTypeOf<{ n: string }>()
  expectTypeOf(valibot.handle).parameter(0).parameter(0).toEqualTypeOf<{ n: number }>()

  const wrong = () => {
    // @ts-expect-error the input is a text, the handler gets the number
    void zod.enqueue({ n: 7 })
    // @ts-expect-error an input job has no key to pass
    void valibot.enqueue('x')
  }
  expectTypeOf(wrong).returns.toBeVoid()
})

test('a job has exactly one kind', () => {
  const wrong = () => {
    // @ts-expect-error neither
    app.job('none', {})
    // @ts-expect-error both
    app.job('both', { pending, input: z.string() })
    // @ts-expect-error a key belongs to pending jobs
    app.job('keyed', { input: z.string(), key: 'int' })
    // @ts-expect-error no such option
    app.job('misspelt', { pending, timeuot: '5s' })
  }
  expectTypeOf(wrong).returns.toBeVoid()
})

test('in and at belong to input jobs, jitter and tx to all', () => {
  const rows = app.job('rows', { pending })
  const inputs = app.job('inputs', { input: z.string() })
  const uses = (tx: Transaction) => {
    void rows.enqueue('a', { jitter: ['1m', '5m'], tx })
    void inputs.enqueue('a', { jitter: 500, tx, in: '10m', id: 'x', unique: 'y' })
    void inputs.enqueue('a', { at: new Date() })
    // @ts-expect-error the row says when
    void rows.enqueue('a', { in: '10m' })
    // @ts-expect-error the row says when
    void rows.enqueue('a', { at: new Date() })
    // @ts-expect-error one id cannot be the id of many
    void inputs.enqueueMany(['a', 'b'], { id: 'x' })
    // @ts-expect-error no duration
    void inputs.enqueue('a', { in: 'soon' })
  }
  expectTypeOf(uses).returns.toBeVoid()
})

test('pending is a query of any builder, a function, or a source of the same key', () => {
  app.job('function', { pending: () => sql`select id from things where at < ${new Date()}` })
  app.job('text and values', { pending: { text: 'select 1', values: [] } })
  app.job('source', {
    key: 'bigint',
    pending: {
      page: async (after, limit) => {
        expectTypeOf(after).toEqualTypeOf<bigint | null>()
        expectTypeOf(limit).toEqualTypeOf<number>()
        return [{ key: 1n, version: '1', runAt: new Date() }]
      },
      isPending: async (keys) => {
        expectTypeOf(keys).toEqualTypeOf<readonly bigint[]>()
        return keys.map((key) => ({ key }))
      },
    },
  })
  const wrong = () => {
    // @ts-expect-error a text is no query
    app.job('wrong', { pending: 'select 1' })
    // @ts-expect-error the keys of the source are not those of the job
    app.job('wrong', { key: 'bigint', pending: { page: async () => [{ key: 'x' }], isPending: async () => [] } })
  }
  expectTypeOf(wrong).returns.toBeVoid()
})

test('a handler is given to work whatever its job', () => {
  const one = app.job('one', { key: 'bigint', pending }).handle((id) => id)
  const many = app.job('many', { input: z.string(), batch: 10 }).handle((items) => items)
  expectTypeOf([one, many]).toEqualTypeOf<Handler[]>()
  expectTypeOf(app.work).parameter(0).extract<object>().toHaveProperty('handlers')
})

test('ctx.tx answers what its function answers', () => {
  const use = (ctx: Context) => ctx.tx(async (tx) => (await tx.query('select 1', [1n, 'a', null, true])).rows.length)
  expectTypeOf(use).returns.resolves.toEqualTypeOf<number>()
})
