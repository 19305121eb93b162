// What a company writes; everything else in this folder is the stage around it. The tables of a small control plane and
// its three jobs: a database is created, backed up soon after, and its owner gets a welcome e-mail.
// A project of yours declares jobs at the top of a module. Here it is a function, because the demo runs several apps.
import { type App, sql } from 'regrow'
import { z } from 'zod'
import { cloud, mail } from './provider.ts'

/** The truth. `audit_log` has no unique index on purpose: an effect that happened twice would show. */
export const tables = [
  `create schema regrow_demo`,
  `create table regrow_demo.databases (id uuid primary key, state text not null default 'pending')`,
  `create index on regrow_demo.databases (id) where state = 'pending'`,
  `create table regrow_demo.backup_policies (
    id bigint generated always as identity primary key,
    database_id uuid not null references regrow_demo.databases,
    next_run_at timestamptz not null
  )`,
  `create index on regrow_demo.backup_policies (next_run_at)`,
  `create table regrow_demo.audit_log (job text not null, key text not null)`,
]

const noteDown = `insert into regrow_demo.audit_log (job, key) values ($1, $2)`

/** Declares the jobs on an app. The sweeps are quick, so that half a minute shows many; the default is a minute. */
export function controlPlane(app: App) {
  const createDatabase = app.job('demo.database.create', {
    key: 'uuid',
    pending: sql`select id from regrow_demo.databases where state = 'pending'`,
    sweep: { every: '2s' },
    retry: { attempts: 6, delay: '200ms', maxDelay: '1s' },
    async run(id, ctx) {
      await cloud.createDatabase(id, ctx)
      await ctx.tx(async (tx) => {
        await tx.query(`update regrow_demo.databases set state = 'ready' where id = $1`, [id])
        await tx.query(
          `insert into regrow_demo.backup_policies (database_id, next_run_at)
           values ($1, now() + interval '1 second' + random() * interval '3 seconds')`,
          [id],
        )
        await tx.query(noteDown, [ctx.job, id])
      })
    },
  })

  // Nobody enqueues a backup: the row says when, and the sweep hints it ahead of time.
  const runBackup = app.job('demo.backup.run', {
    key: 'bigint',
    pending: sql`select id, next_run_at as version, next_run_at as run_at from regrow_demo.backup_policies
      where next_run_at <= now() + interval '1 minute'`,
    sweep: { every: '2s', jitter: '1s' },
    async run(id, ctx) {
      await cloud.backUp(id, ctx)
      await ctx.tx(async (tx) => {
        await tx.query(
          `update regrow_demo.backup_policies set next_run_at = next_run_at + interval '1 day' where id = $1`,
          [id],
        )
        await tx.query(noteDown, [ctx.job, id])
      })
    },
  })

  // No row of ours says that an e-mail is due: its input is stored as an intent.
  const welcomeEmail = app.job('demo.email.welcome', {
    input: z.object({ to: z.string(), database: z.uuid() }),
    sweep: { every: '2s' },
    retry: { delay: '200ms', maxDelay: '1s' },
    async run({ to, database }, ctx) {
      await mail.send(to, ctx)
      await ctx.tx((tx) => tx.query(noteDown, [ctx.job, database]))
    },
  })

  return { createDatabase, runBackup, welcomeEmail }
}

export type ControlPlane = ReturnType<typeof controlPlane>
