// ctx: effects and outcome commit together, or not at all.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Context } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`
    create table things (id text primary key, state text not null default 'pending', version int not null default 1);
    create table effects (id text not null, what text not null)`)

const add = (...ids: string[]) =>
  world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])
const effect = (ctx: Context, id: string, what: string, options?: { settle?: boolean }) =>
  ctx.tx((tx) => tx.query(`insert into effects values ($1, $2)`, [id, what]), options)
const finish = (ctx: Context, id: string) =>
  ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
const effects = () => world.query(`select what from effects order by what`).then((rows) => rows.map(({ what }) => what))

/** One job with that handler, and one key that runs once; later runs only finish. */
async function runOnce(run: (id: string, ctx: Context) => Promise<unknown>) {
  const { app, ear } = world.app()
  const job = app.job('thing.make', {
    pending: sql`select id, version from things where state = 'pending'`,
    retry: { delay: '1s' },
    sweep: { every: '1h' },
    run: (id, ctx) => (ear.of('job.started', { key: id }).length === 1 ? run(id, ctx) : finish(ctx, id)),
  })
  await world.work(app)
  await add('a')
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled').length > 0 || ear.of('job.lease_lost').length > 0)
  return { app, job, ear }
}

describe('ctx.tx', () => {
  test('commits effects and success together, and answers what its function answers', async () => {
    let answer: unknown
    const { ear } = await runOnce(async (id, ctx) => {
      answer = await ctx.tx(async (tx) => {
        await tx.query(`insert into effects values ($1, $2)`, [id, 'once'])
        await tx.query(`update things set state = 'done' where id = $1`, [id])
        // The success is in the transaction: nobody sees the effect without it.
        return 'the answer'
      })
      expect(await world.query(`select * from regrow.ledger`)).toEqual([])
    })
    expect(answer).toBe('the answer')
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(await effects()).toEqual(['once'])
  })

  test('what its function throws rolls the effects back and is the failure of the run', async () => {
    const { ear } = await runOnce((id, ctx) =>
      ctx.tx(async (tx) => {
        await tx.query(`insert into effects values ($1, $2)`, [id, 'undone'])
        throw new Error('half-way')
      }),
    )
    expect(ear.of('job.settled')).toMatchObject([{ state: 'retrying', error: expect.stringContaining('half-way') }])
    expect(await effects()).toEqual([])
  })

  test('may be tried again after it failed', async () => {
    const { ear } = await runOnce(async (id, ctx) => {
      await ctx.tx(() => Promise.reject(new Error('first'))).catch(() => {})
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects values ($1, $2)`, [id, 'second'])
        await tx.query(`update things set state = 'done' where id = $1`, [id])
      })
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(await effects()).toEqual(['second'])
  })

  test('of a statement commits its effect and success together, and answers its rows', async () => {
    let answer: unknown
    const { ear } = await runOnce(async (id, ctx) => {
      answer = await ctx.tx(sql`with done as (update things set state = 'done' where id = ${id})
        insert into effects values (${id}, 'once') returning what`)
      expect(await world.query(`select * from regrow.ledger`)).toEqual([])
    })
    expect(answer).toEqual({ rows: [{ what: 'once' }] })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(await effects()).toEqual(['once'])
  })

  test.each([
    ['text and values', (id: string) => ({ text: `update things set state = 'done' where id = $1`, values: [id] })],
    [
      'a query of Drizzle',
      (id: string) => ({ toSQL: () => ({ sql: `update things set state = 'done' where id = $1`, params: [id] }) }),
    ],
    [
      'a query of Kysely',
      (id: string) => ({
        compile: () => ({ sql: `update things set state = 'done' where id = $1`, parameters: [id] }),
      }),
    ],
  ])('takes %s', async (_, statement) => {
    const { ear } = await runOnce((id, ctx) => ctx.tx(statement(id)))
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(await world.query(`select state from things`)).toEqual([{ state: 'done' }])
  })

  test('of a statement that fails is the failure of the run', async () => {
    const { ear } = await runOnce((id, ctx) => ctx.tx(sql`insert into effects values (${id}, (1 / 0)::text)`))
    expect(ear.of('job.settled')).toMatchObject([
      { state: 'retrying', error: expect.stringContaining('division by zero') },
    ])
    expect(await effects()).toEqual([])
  })

  test.each([[null], [7], ['update things'], [{}], [sql` `]])('says what it takes when it gets %j', async (given) => {
    let thrown: unknown
    await runOnce(async (id, ctx) => {
      thrown = await ctx.tx(given as never).catch((error: unknown) => error)
      await finish(ctx, id)
    })
    expect(thrown).toMatchObject({ code: 'bad_statement', hint: expect.stringContaining('sql`update …`') })
  })

  test('a second one throws; the run stays the success that the first one made it', async () => {
    let second: unknown
    const { ear } = await runOnce(async (id, ctx) => {
      await effect(ctx, id, 'first')
      second = await effect(ctx, id, 'second').catch((error: unknown) => error)
    })
    expect(second).toMatchObject({ code: 'tx_twice' })
    expect(ear.of('job.threw_after_tx')).toEqual([{ job: 'thing.make', key: 'a', error: second }])
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(await effects()).toEqual(['first'])
  })

  test('what is thrown after it is an event, and the run stays a success', async () => {
    const late = new Error('too late to fail')
    const { ear } = await runOnce(async (id, ctx) => {
      await finish(ctx, id)
      throw late
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done', error: null }])
    expect(ear.of('job.threw_after_tx')).toEqual([{ job: 'thing.make', key: 'a', error: late }])
    await world.pass(10_000)
    expect(ear.of('job.started')).toHaveLength(1)
  })

  test.each(['snooze', 'quarantine'] as const)('after it %s throws: the run is over', async (name) => {
    let thrown: unknown
    const { ear } = await runOnce(async (id, ctx) => {
      await finish(ctx, id)
      try {
        if (name === 'snooze') ctx.snooze()
        else ctx.quarantine('too late')
      } catch (error) {
        thrown = error
      }
    })
    expect(thrown).toMatchObject({ code: 'already_settled' })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
  })

  test('with { settle: false } it only fences, any number of times; the outcome is the handler’s', async () => {
    const { ear } = await runOnce(async (id, ctx) => {
      await effect(ctx, id, 'one', { settle: false })
      await effect(ctx, id, 'two', { settle: false })
      throw new Error('after two commits')
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'retrying' }])
    expect(ear.of('job.threw_after_tx')).toEqual([])
    expect(await effects()).toEqual(['one', 'two'])
  })

  test.each([undefined, { settle: false }])(
    'without a claim any more it rolls everything back (%j)',
    async (options) => {
      let lost: unknown
      const { ear } = await runOnce(async (id, ctx) => {
        // As after a lease that ran out: another process freed the key.
        await world.query(`update regrow.ledger set holder = null, take = null, state = 'retrying', crashes = 1`)
        lost = await effect(ctx, id, 'stale', options).catch((error: unknown) => error)
        throw lost
      })
      expect(lost).toMatchObject({ code: 'lease_lost' })
      expect(await effects()).toEqual([])
      expect(ear.of('job.lease_lost')).toEqual([{ job: 'thing.make', key: 'a' }])
      expect(await world.query(`select failures, crashes from regrow.ledger`)).toEqual([{ failures: 0, crashes: 1 }])
    },
  )

  test('finishes the intent of an input job in the same commit', async () => {
    const { app, ear } = world.app()
    const job = app.job('mail.send', {
      input: z.object({ to: z.string() }),
      run: ({ to }, ctx) => effect(ctx, to, `mail to ${to}`),
    })
    await world.work(app)
    await job.enqueue({ to: 'ada' })
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
    expect(await effects()).toEqual(['mail to ada'])
    expect(await world.query(`select * from regrow.intents`)).toEqual([])
  })

  test('a statement that fails in it leaves the worker’s connection usable', async () => {
    const { ear } = await runOnce((_, ctx) => ctx.tx((tx) => tx.query(`select 1 / 0`)))
    expect(ear.of('job.settled')).toMatchObject([
      { state: 'retrying', error: expect.stringContaining('division by zero') },
    ])
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  })
})

const insert = (id: string, what: string) => sql`insert into effects values (${id}, ${what})`
/** Effects on top of each other: as functions, and as statements. */
const kinds = [
  ['a function', (ctx: Context, id: string, what: string) => effect(ctx, id, what)],
  ['a statement', (ctx: Context, id: string, what: string) => ctx.tx(insert(id, what))],
] as const

describe.each(kinds)('ctx.tx of %s without its `await`', (_, write) => {
  test('is waited for, and its outcome is that of the run', async () => {
    const { ear } = await runOnce(async (id, ctx) => {
      void write(ctx, id, 'not awaited')
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(ear.of('job.lease_lost')).toEqual([])
    expect(await effects()).toEqual(['not awaited'])
    expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  })

  test('is waited for when the handler is no async function', async () => {
    const { ear } = await runOnce((id, ctx) => {
      void write(ctx, id, 'of one that returned')
      return undefined as never
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(await effects()).toEqual(['of one that returned'])
  })

  test('is waited for when the handler throws, and the run is the success that it made', async () => {
    const late = new Error('and then it threw')
    const { ear } = await runOnce(async (id, ctx) => {
      void write(ctx, id, 'of one that threw')
      throw late
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    expect(ear.of('job.threw_after_tx')).toEqual([{ job: 'thing.make', key: 'a', error: late }])
    expect(await effects()).toEqual(['of one that threw'])
  })

  test.each([0, 1_000])('fails the run when it fails, and the handler returns %i ms later', async (wait) => {
    const { ear } = await runOnce(async (_, ctx) => {
      void write(ctx, null as never, 'refused')
      if (wait > 0) await world.clock.sleep(wait)
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'retrying', error: expect.stringContaining('not-null') }])
    expect(await effects()).toEqual([])
  })

  test('beside another one: neither commits, and the run fails, whatever the handler makes of it', async () => {
    const { ear } = await runOnce((id, ctx) =>
      Promise.allSettled([write(ctx, id, 'one'), write(ctx, id, 'two')]).then((results) => {
        expect(results).toMatchObject([{ reason: { code: 'tx_twice' } }, { reason: { code: 'tx_twice' } }])
      }),
    )
    expect(ear.of('job.settled')).toMatchObject([{ state: 'retrying', error: expect.stringContaining('under way') }])
    expect(ear.of('job.lease_lost')).toEqual([])
    expect(await effects()).toEqual([])
    expect(await world.query(`select failures from regrow.ledger`)).toEqual([{ failures: 1 }])
  })

  test('beside one that goes on: that one is rolled back', async () => {
    const { ear } = await runOnce(async (id, ctx) => {
      const first = ctx.tx(async (tx) => {
        await tx.query(`insert into effects values ($1, 'first')`, [id])
        await expect(write(ctx, id, 'inside')).rejects.toMatchObject({ code: 'tx_twice' })
      })
      await first.catch(() => {})
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'retrying', error: expect.stringContaining('under way') }])
    expect(await effects()).toEqual([])
  })

  test('after the run has ended is refused, and writes nothing', async () => {
    let kept: Context | undefined
    const { ear } = await runOnce(async (id, ctx) => {
      await finish(ctx, id)
      kept = ctx
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'done' }])
    await expect(write(kept as Context, 'a', 'late')).rejects.toMatchObject({ code: 'run_over' })
    expect(await effects()).toEqual([])
  })
})

describe('ctx.tx with { settle: false } and without its `await`', () => {
  test('is waited for, also beside another one', async () => {
    const { ear } = await runOnce(async (id, ctx) => {
      void effect(ctx, id, 'one', { settle: false })
      void effect(ctx, id, 'two', { settle: false })
    })
    expect(ear.of('job.lease_lost')).toEqual([])
    expect(await effects()).toEqual(['one', 'two'])
  })

  test('under way when the last one is called: that one is refused, and the run fails', async () => {
    const { ear } = await runOnce(async (id, ctx) => {
      void effect(ctx, id, 'one', { settle: false })
      await finish(ctx, id)
    })
    expect(ear.of('job.settled')).toMatchObject([{ state: 'retrying', error: expect.stringContaining('under way') }])
    expect(await effects()).toEqual([])
  })
})

test('ctx.snooze ends the run without success or failure and starts it again after its time', async () => {
  const { ear } = await runOnce(async (_, ctx) => ctx.snooze('30s'))
  expect(ear.of('job.settled')).toMatchObject([{ state: 'retrying', error: null }])
  expect(await world.query(`select failures, crashes from regrow.ledger`)).toEqual([{ failures: 0, crashes: 0 }])
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  expect(ear.times('job.started')).toEqual([0, 30_000])
  expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 1])
})

test('ctx.snooze with a bad duration is a failure that says so', async () => {
  const { ear } = await runOnce(async (_, ctx) => ctx.snooze('soon' as '1s'))
  expect(ear.of('job.settled')).toMatchObject([
    { state: 'retrying', error: expect.stringContaining('The delay of ctx.snooze() is "soon"') },
  ])
})

test('ctx.quarantine ends the run there', async () => {
  const { ear } = await runOnce(async (_, ctx) => ctx.quarantine('no such customer'))
  expect(ear.of('job.settled')).toMatchObject([{ state: 'quarantined', error: 'no such customer' }])
})

test('what is thrown after ctx.snooze or ctx.quarantine does not change the outcome', async () => {
  const { ear } = await runOnce(async (_, ctx) => {
    ctx.quarantine('this counts')
    throw new Error('this does not')
  })
  expect(ear.of('job.settled')).toMatchObject([{ state: 'quarantined', error: 'this counts' }])
})

test('the idempotency key is the same over attempts and another with a new version', async () => {
  const { app, ear } = world.app()
  const keys: string[] = []
  const job = app.job('thing.make', {
    pending: sql`select id, version from things where state = 'pending'`,
    retry: { delay: '1s' },
    async run(id, ctx) {
      keys.push(ctx.idempotencyKey)
      if (keys.length === 2) await world.query(`update things set version = 2`)
      if (keys.length < 3) throw new Error('again')
      await finish(ctx, id)
    },
  })
  await world.work(app)
  await add('a')
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  expect(keys).toEqual(['thing.make/a/1', 'thing.make/a/1', 'thing.make/a/2'])
})

test('the signal of a run whose worker was declared dead aborts, and its result is discarded', async () => {
  const { app, ear } = world.app()
  let reason: unknown
  const job = app.job('thing.make', {
    pending: sql`select id, version from things where state = 'pending'`,
    sweep: { every: '1h' },
    async run(id, ctx) {
      if (ear.of('job.started').length > 1) return finish(ctx, id)
      const aborted = new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      await world.query(`delete from regrow.workers`)
      await aborted
      reason = ctx.signal.reason
    },
  })
  await world.work(app)
  await add('a')
  await job.enqueue('a')
  await world.until(() => ear.of('worker.gone').length === 1, 10_000)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  expect(reason).toMatchObject({ code: 'lease_lost' })
  expect(ear.of('job.lease_lost')).toEqual([{ job: 'thing.make', key: 'a' }])
  expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 2])
})
