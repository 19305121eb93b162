// Histories on the real SQL: the store's statements run in a PGlite whose clock is the kernel's. No virtual time passes while
// one runs. After each that writes, its tables are read, so that the oracle sees the same changes as in the model.

import { PGlite } from '@electric-sql/pglite'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { keyCodec } from '../../src/job/key.ts'
import type { Store } from '../../src/store/store.ts'
import { cast, refusedText } from './cast.ts'
import { isPart } from './faults.ts'
import type { Kernel } from './kernel.ts'
import { beginningMs } from './sim-process.ts'
import { acted } from './store/app-tx.ts'
import type { AppRow, AppTx, Change } from './store/database.ts'
import type { IntentRow, LedgerRow, PauseRow, ScheduleRow, SlotRow, SweepRow, WorkerRow } from './store/schema.ts'
import { slotId } from './store/schema.ts'
import type { OwnTx, Truth } from './truth.ts'

type Query = (text: string, params?: unknown[]) => Promise<{ rows: unknown[] }>
type Row = Record<string, unknown>

const sqlTypes = { text: 'text collate "C"', int: 'int', bigint: 'bigint', uuid: 'uuid' } as const

/** The application's tables: key columns of the job's types, and the rest as JSON. */
const appTables = [
  ...cast.filter(({ input }) => !input).map(({ table, key }) => ({ table, codec: keyCodec(key) })),
  { table: 'effects', codec: keyCodec('text') },
].map(({ table, codec }) => ({
  table,
  codec,
  columns: codec.columns.map(({ name, type }) => ({ name: name ?? 'id', type })),
}))

const ownTables = ['ledger', 'workers', 'sweeps', 'marks', 'pauses', 'intents', 'schedules', 'slots'] as const
const idOf: Record<(typeof ownTables)[number], (row: Row) => string> = {
  ledger: (row) => `${row.job}\u0000${row.key}`,
  workers: (row) => String(row.id),
  sweeps: (row) => String(row.job),
  marks: (row) => String(row.queue),
  pauses: (row) => String(row.job),
  intents: (row) => String(row.id),
  schedules: (row) => String(row.name),
  slots: (row) => slotId(String(row.schedule), Number(row.slot)),
}

/** What the statements of a port may change; all that is left out changes nothing that anybody looks at. */
const changes: Readonly<Record<string, readonly string[]>> = {
  'ledger.take': ['ledger'],
  'ledger.alone': ['ledger'],
  'ledger.release': ['ledger'],
  'ledger.settle': ['ledger', 'intents', 'slots'],
  'ledger.clear': ['ledger'],
  'ledger.remember': ['ledger'],
  'workers.register': ['workers'],
  'workers.beat': ['workers', 'ledger'],
  'workers.free': ['workers', 'ledger', 'sweeps'],
  'workers.leave': ['workers', 'sweeps'],
  'sweeps.declare': ['sweeps'],
  'sweeps.turn': ['sweeps', 'pauses'],
  'sweeps.advance': ['sweeps'],
  'sweeps.end': ['sweeps', 'pauses'],
  'sweeps.makeDue': ['sweeps'],
  'marks.look': ['marks'],
  'marks.raise': ['marks'],
  'marks.lose': ['marks', 'sweeps'],
  'audits.write': ['ledger'],
  'intents.record': ['intents'],
  'intents.startUnique': ['intents'],
  'intents.yieldUnique': ['intents'],
  'pauses.pause': ['pauses', 'sweeps'],
  'pauses.resume': ['pauses', 'sweeps'],
  'pauses.end': ['pauses', 'sweeps'],
  'schedules.declare': ['schedules', 'slots'],
  'schedules.write': ['schedules', 'slots'],
  'schedules.upkeep.rewind': ['schedules', 'slots'],
  'schedules.upkeep.tidy': ['schedules', 'slots'],
  'schedules.finish': ['slots'],
  'schedules.hand': ['slots'],
  'timetable.control.pause': ['schedules'],
  'timetable.control.resume': ['schedules', 'slots'],
  'timetable.control.end': ['schedules', 'slots'],
  'timetable.control.remove': ['schedules', 'slots', 'ledger'],
  'timetable.control.run': ['slots'],
  'quarantine.release': ['ledger'],
  'quarantine.drop': ['ledger', 'intents', 'slots'],
  transaction: ['ledger', 'intents', 'slots', ...appTables.map(({ table }) => table)],
}

/** A PGlite with regrow's schema and the application's tables; one for many histories. */
export async function openPglite(): Promise<PGlite> {
  const db = new PGlite()
  const { store } = await pglite(db).open({ clock: immediate, leaseMs: 15_000 })
  await store.migrate()
  await store.prepare({ migrate: false })
  await db.exec(`
    create or replace function regrow.clock() returns timestamptz language sql volatile as $$
      select to_timestamp(current_setting('sim.now')::float8 / 1000)
    $$;
    alter table regrow.ledger add constraint of_a_person check (error not like '%${refusedText}%');
    ${appTables
      .map(({ table, columns }) => {
        const keys = columns.map(({ name, type }) => `${name} ${sqlTypes[type]}`).join(', ')
        return `create table ${table} (${keys}, row jsonb not null, primary key (${columns.map(({ name }) => name).join(', ')}));`
      })
      .join('\n')}`)
  return db
}

/** PGlite answers in the present turn of the event loop: nobody has to be waited for. */
const immediate = {
  now: () => 0,
  wall: () => beginningMs,
  sleep: () => new Promise<void>(() => {}),
  after: () => () => {},
  gather: async () => {},
}

export class PgliteTruth implements Truth {
  watch: (change: Change) => void = () => {}
  readonly oneConnection = true
  readonly #db: PGlite
  readonly #kernel: Kernel
  readonly #real: Store<{ query: Query }>
  readonly #tables = new Map<string, Map<string, { readonly row: Row; readonly text: string }>>()
  readonly #views = new Map<string, Map<string, Row>>()
  #now = -1

  private constructor(db: PGlite, kernel: Kernel, real: Store<{ query: Query }>) {
    this.#db = db
    this.#kernel = kernel
    this.#real = real
    for (const table of [...ownTables, ...appTables.map(({ table }) => table)]) {
      this.#tables.set(table, new Map())
      this.#views.set(table, new Map())
    }
  }

  /** An empty database in the time of `kernel`. */
  static async begin(db: PGlite, kernel: Kernel): Promise<PgliteTruth> {
    const tables = [...ownTables, 'heals', 'audit'].map((table) => `regrow.${table}`)
    await db.exec(`
      truncate ${[...tables, ...appTables.map(({ table }) => table)].join(', ')} restart identity;
      truncate regrow.pulse; insert into regrow.pulse default values;
      select set_config('sim.now', '${beginningMs}', false);`)
    const { store } = await pglite(db).open({ clock: immediate, leaseMs: 15_000 })
    return new PgliteTruth(db, kernel, store as unknown as Store<{ query: Query }>)
  }

  store(): Store<AppTx> {
    const real = this.#real
    const port = <T extends object>(name: string, target: T): T =>
      new Proxy(target, {
        get: (_, property) => {
          const value: unknown = Reflect.get(target, property, target)
          if (isPart(value)) return port(`${name}.${String(property)}`, value)
          if (typeof value !== 'function') return value
          const statement = `${name}.${String(property)}`
          return (...args: unknown[]) => {
            const given = args.map(unwrapped)
            if (given.every((arg, i) => arg === args[i])) return this.#run(statement, () => value.apply(target, args))
            // A statement of the transaction that is open: whoever asked waits inside it.
            return value.apply(target, given)
          }
        },
      })
    return {
      classify: real.classify,
      ledger: port('ledger', real.ledger),
      workers: port('workers', real.workers),
      sweeps: port('sweeps', real.sweeps),
      marks: port('marks', real.marks),
      audits: port('audits', real.audits),
      intents: port('intents', real.intents),
      status: port('status', real.status),
      quarantine: port('quarantine', real.quarantine),
      forgetting: port('forgetting', real.forgetting),
      pauses: port('pauses', real.pauses),
      schedules: port('schedules', real.schedules),
      timetable: port('timetable', real.timetable),
      source: (job) => port('source', real.source(job)),
      transaction: (fn) =>
        this.#run('transaction', () =>
          real.transaction((tx, own) => {
            const rows = statements(own.query.bind(own))
            const query = (_: string, values?: readonly unknown[]) => acted(rows, values)
            const lent = Object.assign(rows, { [session]: tx, query })
            return fn(lent as never, lent)
          }),
        ),
      connections: real.connections,
      identity: () => real.identity(),
      outdated: async () => false,
      prepare: async () => {},
      migrate: () => real.migrate(),
      close: async () => {},
    }
  }

  /** Its writes are kept until the commit: a transaction that stays open would hold the only connection. */
  begin(): OwnTx {
    const writes: ((tx: AppTx) => Promise<void>)[] = []
    const read = async (table: string, id: string) => this.rows(table).get(id)
    return {
      get: read,
      lock: read,
      put: async (table, id, row) => void writes.push((tx) => tx.put(table, id, row)),
      remove: async (table, id) => void writes.push((tx) => tx.remove(table, id)),
      commit: () =>
        this.#run('transaction', () =>
          this.#db.transaction(async (tx) => {
            for (const write of writes) await write(statements(tx.query.bind(tx) as Query))
          }),
        ),
    }
  }

  kill(): void {}
  flush(): void {}
  restart(): number {
    return 0
  }

  get ledger() {
    return this.#view<LedgerRow>('ledger')
  }
  get workers() {
    return this.#view<WorkerRow>('workers')
  }
  get sweeps() {
    return this.#view<SweepRow>('sweeps')
  }
  get pauses() {
    return this.#view<PauseRow>('pauses')
  }
  get intents() {
    return this.#view<IntentRow>('intents')
  }
  get schedules() {
    return this.#view<ScheduleRow>('schedules')
  }
  get slots() {
    return this.#view<SlotRow>('slots')
  }
  rows(table: string): ReadonlyMap<string, AppRow> {
    return this.#view<AppRow>(table)
  }

  #view<R>(table: string): ReadonlyMap<string, R> {
    return this.#views.get(table) as unknown as ReadonlyMap<string, R>
  }

  /** One call of the store, at the kernel's time; afterwards every change is told. */
  #run<T>(statement: string, work: () => Promise<T>): Promise<T> {
    return this.#kernel.during(
      (async () => {
        const now = this.#kernel.now()
        if (now !== this.#now)
          await this.#db.query(`select set_config('sim.now', $1, false)`, [String(beginningMs + now)])
        this.#now = now
        try {
          return await work()
        } finally {
          if (changes[statement]) await this.#refresh(statement, changes[statement])
        }
      })(),
    )
  }

  async #refresh(statement: string, tables: readonly string[]): Promise<void> {
    const { rows } = await this.#db.query<{ dump: string }>(
      `select json_build_object(${tables.map((table) => dumps.get(table)).join(', ')})::text as dump`,
    )
    const found = JSON.parse(rows[0]?.dump as string) as Record<string, Row[]>
    for (const table of tables) {
      const known = this.#tables.get(table) as Map<string, { readonly row: Row; readonly text: string }>
      const view = this.#views.get(table) as Map<string, Row>
      const left = new Set(known.keys())
      for (const each of found[table] ?? []) {
        const own = (ownTables as readonly string[]).includes(table)
        const row = own ? camelCased(each) : (each.row as Row)
        const id = own ? idOf[table as keyof typeof idOf](row) : String(each.id)
        const text = JSON.stringify(row)
        const before = known.get(id)
        left.delete(id)
        if (before?.text === text) continue
        known.set(id, { row, text })
        view.set(id, row)
        this.watch({ table, id, before: before?.row, after: row, statement })
      }
      for (const id of left) {
        const before = known.get(id)?.row
        known.delete(id)
        view.delete(id)
        this.watch({ table, id, before, after: undefined, statement })
      }
    }
  }
}

const session = Symbol('the transaction of the store')

/** A transaction as the store knows it, also where it is an option; all else as it is. */
function unwrapped(arg: unknown): unknown {
  if (typeof arg !== 'object' || arg === null) return arg
  const own = Reflect.get(arg, session) as unknown
  const { tx } = arg as { tx?: unknown }
  return own ?? (tx === undefined ? arg : { ...arg, tx: unwrapped(tx) })
}

/** Every row of a table, by its name, as JSON. */
const dumps: ReadonlyMap<string, string> = new Map([
  ...ownTables.map((table): [string, string] => [
    table,
    `'${table}', (select coalesce(json_agg(t), '[]') from regrow.${table} t)`,
  ]),
  ...appTables.map(({ table, columns }): [string, string] => {
    const texts = columns.map(({ name }) => `to_json(${name}::text)::text`)
    const id = columns.length === 1 ? `${columns[0]?.name}::text` : `'[' || ${texts.join(` || ',' || `)} || ']'`
    return [
      table,
      `'${table}', (select coalesce(json_agg(json_build_object('id', ${id}, 'row', row)), '[]') from ${table})`,
    ]
  }),
])

function statements(query: Query): AppTx {
  const of = (table: string, id: string) => {
    const { codec, columns } = appTables.find((each) => each.table === table) as (typeof appTables)[number]
    const given = columns.map(({ type }, i) => `$${i + 1}::text::${type === 'text' ? 'text' : type}`)
    const names = columns.map(({ name }) => name)
    const where = names.map((name, i) => `${name} = ${given[i]}`).join(' and ')
    return { names: names.join(', '), given: given.join(', '), where, values: codec.split(id) }
  }
  const read = async (table: string, id: string, how: string) => {
    const { where, values } = of(table, id)
    const { rows } = await query(`select row::text as row from ${table} where ${where} ${how}`, values)
    const found = rows[0] as { row: string } | undefined
    return found && (JSON.parse(found.row) as AppRow)
  }
  return {
    get: (table, id) => read(table, id, ''),
    lock: (table, id) => read(table, id, 'for update'),
    put: async (table, id, row) => {
      const { names, given, values } = of(table, id)
      await query(
        `insert into ${table} (${names}, row) values (${given}, $${values.length + 1}::text::jsonb)
         on conflict (${names}) do update set row = excluded.row`,
        [...values, JSON.stringify(row)],
      )
    },
    remove: async (table, id) => {
      const { where, values } = of(table, id)
      await query(`delete from ${table} where ${where}`, values)
    },
  }
}

/** A row with its columns named as the model names them; times in epoch ms. */
function camelCased(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      const name = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
      const isTime = /(At|^since|^until|^slot|^lastSlot|^through)$/.test(name) && typeof value === 'string'
      return [name, isTime ? Date.parse(value) : value]
    }),
  )
}
