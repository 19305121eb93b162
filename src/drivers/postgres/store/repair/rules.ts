// What regrow writes into the columns of its own tables, and what is put where something else is found: an instant without end or
// centuries away, a number at the end of its type, a list where an object belongs.

/** One column. In SQL: `t` is the row, `env` has the bounds. */
export interface Rule {
  readonly column: string
  /** Holds for what regrow writes. Null is never damage. */
  readonly fine: string
  /** What is put in its place; null: the row is deleted, since without this column it says nothing. */
  readonly put: string | null
  /** The schema that has the column first. */
  readonly since?: number
}

export interface Table {
  readonly name: string
  /** Its primary key. */
  readonly key: readonly string[]
  /** What a person is told of a row. */
  readonly shown: string
  readonly rules: readonly Rule[]
  /** Rows that are looked at in every round, by an index or because they are few; the others are read whole, and seldom. Missing: all. */
  readonly often?: string
}

/** The bounds: no clock of a server is further off, no duration is longer, and no client can count further. */
export const bounds = `select regrow.clock() as at, timestamptz '1900-01-01 00:00:00+00' as oldest,
  regrow.clock() + interval '200 years' as newest, 3153600000000::int8 as longest, 9007199254740000::int8 as most`

/** More than anything is counted up to that is an int, with room for one more. */
const many = '1000000000'

const instants = (put: string | null, ...columns: readonly string[]): Rule[] =>
  columns.map((column) => ({ column, fine: `t.${column} between env.oldest and env.newest`, put }))

const numbers = (from: number, to: string, put: string | null, ...columns: readonly string[]): Rule[] =>
  columns.map((column) => ({ column, fine: `t.${column} between ${from} and ${to}`, put }))

const since = (schema: number, rules: readonly Rule[]): Rule[] => rules.map((rule) => ({ ...rule, since: schema }))

const object = (column: string, put: string): Rule => ({ column, fine: `jsonb_typeof(t.${column}) = 'object'`, put })

const finite = (column: string): Rule => ({ column, fine: `isfinite(t.${column})`, put: 'null' })

/** '-infinity' is what the pulse begins with. */
const beginning = (column: string): Rule => ({
  column,
  fine: `(t.${column} = '-infinity' or t.${column} between env.oldest and env.newest)`,
  put: `'-infinity'`,
})

export const tables: readonly Table[] = [
  {
    name: 'sweeps',
    key: ['job'],
    shown: 't.job',
    rules: [
      // Due now; a turn is over; the term begins again, and counts begin again.
      ...instants('env.at', 'next_at', 'until'),
      ...instants('null', 'last_attempt_at', 'last_success_at', 'audited_at', 'ramped_at', 'pending_at', 'oldest_at'),
      ...numbers(0, 'env.most', '0', 'term', 'seen', 'pushed', 'held', 'took_ms', 'pass_seen', 'dropped', 'stalled'),
      ...numbers(0, 'env.most', '0', 'no_progress'),
      ...since(9, numbers(0, 'env.most', '0', 'unusable', 'pass_unusable')),
      ...numbers(0, 'env.most', 'null', 'pending'),
      ...numbers(0, 'env.longest', 'null', 'every_ms'),
      ...numbers(0, many, '0', 'errors'),
      object('sample', 'null'),
    ],
  },
  {
    name: 'workers',
    key: ['id'],
    shown: 't.id',
    // It has just beaten: when it is dead, that shows after a lease, which is that of whoever looks.
    rules: [
      ...instants('env.at', 'started_at', 'beat_at'),
      ...since(9, numbers(1, 'env.longest', 'null', 'lease_ms')),
      object('jobs', `'{}'`),
    ],
  },
  {
    name: 'pulse',
    key: ['one'],
    shown: `'its only row'`,
    rules: [
      ...['beat_at', 'grace_until', 'audit_at'].map(beginning),
      ...since(9, [...instants('null', 'set_back_at'), ...numbers(0, 'env.longest', 'null', 'set_back_ms')]),
    ],
  },
  {
    name: 'pauses',
    key: ['job'],
    shown: 't.job',
    // Without an end it lasts until it is resumed: what starts nothing does no harm.
    rules: [...instants('env.at', 'since'), ...instants('null', 'until'), ...numbers(0, 'env.most', 'null', 'backlog')],
  },
  {
    name: 'marks',
    key: ['queue'],
    shown: 't.queue',
    rules: [...instants('env.at', 'epoch_at', 'bumped_at'), ...numbers(0, 'env.most', '0', 'sequence')],
  },
  {
    name: 'heals',
    key: ['id'],
    shown: 't.queue',
    // History, and of nothing that was.
    rules: [
      ...instants(null, 'at', 'ended_at'),
      ...numbers(0, 'env.most', null, 'epoch', 'pushed'),
      ...numbers(-1_000_000_000, many, null, 'jobs_left'),
    ],
  },
  {
    name: 'schedules',
    key: ['name'],
    shown: 't.name',
    rules: [
      // Nothing that may have run already runs again: it goes on from now (S9).
      ...instants('env.at', 'from_at', 'last_slot', 'created_at', 'seen_at', 'paused_at', 'ended_at'),
      ...instants('null', 'last_audit_at'),
      ...since(9, instants('null', 'ran_until')),
      // An author may write any date.
      ...['start_at', 'end_at'].map(finite),
      ...numbers(1, many, '1', 'version'),
      ...numbers(0, 'env.most', '0', 'term'),
      ...numbers(1, 'env.longest', 'env.longest', 'every_ms'),
      ...numbers(0, 'env.longest', '0', 'jitter_ms'),
    ],
  },
  {
    name: 'slots',
    key: ['schedule', 'slot'],
    shown: 't.schedule',
    often: `t.state in ('waiting', 'held')`,
    rules: [
      ...instants(null, 'slot'),
      ...instants('t.slot', 'due_at', 'made_at', 'begun_at', 'ended_at'),
      ...instants('null', 'through'),
    ],
  },
  {
    name: 'ledger',
    key: ['key', 'job'],
    shown: `t.job || ' ' || t.key`,
    often: 'false',
    rules: [
      // It waits no longer, and its counts begin again.
      ...instants('env.at', 'retry_at', 'updated_at'),
      ...instants('null', 'unseen_at'),
      ...numbers(0, many, '0', 'failures', 'crashes', 'pardoned'),
      // Its back-off doubles with each.
      ...numbers(0, '100', '0', 'solo_crashes'),
      ...numbers(1, many, 'null', 'together'),
    ],
  },
  {
    name: 'intents',
    key: ['id'],
    shown: `t.job || ' ' || t.id`,
    often: 'false',
    rules: instants('env.at', 'created_at'),
  },
]
