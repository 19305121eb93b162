// The jobs of the simulated application, each of another kind, and how their pending queries read: in the model, and in SQL.
import type { KeyShape } from '../../src/job/key.ts'
import type { SqlQuery } from '../../src/job/pending.ts'
import type { AppRow, ModelQuery } from './store/database.ts'

/** What the handler of a row does. */
export type Deed =
  | 'ok'
  /** Takes some seconds. */
  | 'slow'
  /** Throws in its first two attempts. */
  | 'fails twice'
  /** Asks to be run again, once. */
  | 'again'
  | 'poison'
  /** Kills its process. */
  | 'crash'
  /** Takes some seconds, and does not listen to its signal; examinations only. */
  | 'deaf'
  /** Throws, whoever is in the call with it; examinations only. */
  | 'throws'
  /** Returns without having changed the row. */
  | 'stays'
  /** Asks for quarantine. */
  | 'gives up'
  /** Waits for its signal, then throws. */
  | 'hangs'
  /** Asks to be run again later than Postgres can count: a hostile Retry-After. */
  | 'far'
  /** Throws what the store refuses to hold. */
  | 'refused'
  /** Returns without having waited for its ctx.tx. */
  | 'forgets'
  /** Calls ctx.tx twice at once in its first attempt, with half of its work in each, and catches what they throw. */
  | 'twice'

/** A text that no row of the ledger may hold, as if somebody had put a constraint on it. */
export const refusedText = 'the store refuses this'

/** Deeds after which a row is done in the end; the others end in quarantine, but for 'far', which waits. */
export const finishing: readonly Deed[] = ['ok', 'slow', 'deaf', 'fails twice', 'again', 'forgets', 'twice']

export interface Part {
  readonly name: string
  readonly table: string
  readonly key: KeyShape
  readonly many: boolean
  /** Its pending query has a version column: each generation of a row is new work. */
  readonly versioned: boolean
  readonly timed: boolean
  /** Writes its effect in ctx.tx; if not, over a connection of its own before it returns. */
  readonly transacts: boolean
  /** Its work is an intent. */
  readonly input: boolean
  readonly uniqueUntil: 'start' | 'success'
  readonly timeout: string
  readonly deeds: readonly Deed[]
  /** Keys as handlers get them and as `enqueue` takes them, and their canonical texts; odd ones among them (S14). */
  readonly keys: readonly { readonly value: unknown; readonly text: string; readonly odd: boolean }[]
  readonly sql: SqlQuery
  /** Its work comes by a schedule, and never ends. */
  readonly recurs?: true
}

const plain = {
  many: false,
  versioned: false,
  timed: false,
  transacts: true,
  input: false,
  uniqueUntil: 'start',
} as const
const key = (value: unknown, text: string, odd = false) => ({ value, text, odd })
const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => key(`${prefix}${i}`, `${prefix}${i}`))

export const ship: Part = {
  ...plain,
  name: 'order.ship',
  table: 'orders',
  key: 'text',
  versioned: true,
  timeout: '2m',
  deeds: [
    'ok',
    'slow',
    'fails twice',
    'again',
    'poison',
    'crash',
    'stays',
    'gives up',
    'far',
    'refused',
    'forgets',
    'twice',
  ],
  keys: [key('007', '007', true), key('ключ "1"', 'ключ "1"', true), ...numbered('o', 12)],
  sql: { text: `select id, row ->> 'generation' as version from orders where row ->> 'state' = 'pending'`, values: [] },
}

export const render: Part = {
  ...plain,
  name: 'page.render',
  table: 'pages',
  key: 'bigint',
  many: true,
  timeout: '2m',
  deeds: ['ok', 'slow', 'fails twice', 'poison', 'refused'],
  keys: [9_007_199_254_740_993n, -5n, ...Array.from({ length: 10 }, (_, i) => BigInt(i))].map((value) =>
    key(value, String(value), value > 9n),
  ),
  sql: { text: `select id from pages where row ->> 'state' = 'pending'`, values: [] },
}

export const mail: Part = {
  ...plain,
  name: 'mail.send',
  table: '',
  key: 'uuid',
  input: true,
  timeout: '2m',
  deeds: ['ok', 'slow', 'fails twice', 'again', 'poison', 'gives up', 'far', 'refused', 'forgets'],
  keys: [],
  sql: { text: '', values: [] },
}

export const bill: Part = {
  ...plain,
  name: 'bill.pay',
  table: 'bills',
  key: { shop: 'int', number: 'text' },
  versioned: true,
  timed: true,
  uniqueUntil: 'success',
  timeout: '2m',
  deeds: ['ok', 'slow', 'fails twice'],
  keys: Array.from({ length: 8 }, (_, i) =>
    key({ shop: i % 3, number: `b"${i}` }, JSON.stringify([String(i % 3), `b"${i}`]), true),
  ),
  sql: {
    text: `select shop, number, row ->> 'generation' as version, to_timestamp((row ->> 'runAtMs')::float8 / 1000) as run_at
from bills where row ->> 'state' = 'pending'`,
    values: [],
  },
}

export const probe: Part = {
  ...plain,
  name: 'probe.run',
  table: 'probes',
  key: 'text',
  transacts: false,
  timeout: '4s',
  deeds: ['ok', 'slow', 'hangs'],
  keys: numbered('p', 6),
  sql: { text: `select id from probes where row ->> 'state' = 'pending'`, values: [] },
}

export const cast: readonly Part[] = [ship, render, mail, bill, probe]
export const partOf = new Map(cast.map((part) => [part.name, part]))

/** What a deploy knows: the old code has no probes, and a special worker ships orders only. */
export const jobSets: readonly (readonly string[])[] = [
  cast.map(({ name }) => name),
  [ship, render, mail, bill].map(({ name }) => name),
  [ship, mail].map(({ name }) => name),
]

/** The pending queries as the model reads them. */
export const modelQueries: ReadonlyMap<string, ModelQuery> = new Map(
  cast
    .filter(({ input }) => !input)
    .map(({ name, table, versioned, timed }): [string, ModelQuery] => [
      name,
      {
        table,
        pending: (row: AppRow) => row.state === 'pending',
        ...(versioned ? { version: (row: AppRow) => String(row.generation) } : {}),
        ...(timed ? { runAtMs: ({ runAtMs }: AppRow) => (runAtMs === null ? null : Number(runAtMs)) } : {}),
      },
    ]),
)
