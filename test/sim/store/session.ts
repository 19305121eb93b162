// A session of the model: one transaction. Its writes are its own until it commits; rows that it wrote or locked are its
// own until it ends. A statement is a generator that stands still only where it waits for a lock.
import { sqlError } from './sql-error.ts'
import type { Lock, Row, Table } from './table.ts'

/** A statement under way; what it yields is the lock that it waits for. */
export type Statement<T> = Generator<Lock, T, void>

const plain = <R extends Row>(table: Table<R>) => table as unknown as Table

/** One transaction, or one statement that commits by itself. */
export class Session {
  /** What it wrote: by table and id, undefined where it removed the row. */
  readonly writes = new Map<Table, Map<string, Row | undefined>>()
  readonly locks: { readonly table: Table; readonly id: string }[] = []
  /** Failed: a statement of it broke, and only its end is left. */
  state: 'open' | 'failed' | 'ended' | 'killed' = 'open'
  /** The lock that a statement of it waits for. */
  waitsFor: Lock | undefined

  /** What it sees of a row: its own write, or what is committed. */
  get<R extends Row>(table: Table<R>, id: string): R | undefined {
    const own = this.writes.get(plain(table))
    return own?.has(id) ? (own.get(id) as R | undefined) : table.rows.get(id)
  }

  /** Replaces a row; undefined removes it. Take its lock before. */
  set<R extends Row>(table: Table<R>, id: string, row: R | undefined): void {
    const key = plain(table)
    const own = this.writes.get(key)
    if (own) own.set(id, row)
    else this.writes.set(key, new Map([[id, row]]))
  }

  /** Whether it has a write of that row. */
  wrote(table: Table, id: string): boolean {
    return this.writes.get(table)?.has(id) === true
  }

  /** Takes the lock of a row where nobody else has it. */
  tryLock<R extends Row>(table: Table<R>, id: string): boolean {
    const held = table.locks.get(id)
    if (held) return held.owner === this
    table.locks.set(id, { owner: this, waiting: [] })
    this.locks.push({ table: plain(table), id })
    return true
  }

  /** Waits for the lock of a row. */
  *lock<R extends Row>(table: Table<R>, id: string): Statement<void> {
    while (!this.tryLock(table, id)) yield table.locks.get(id) as Lock
  }

  /** Waits for whoever is writing a row, not for who only has it locked: that is how an insert looks for conflicts. */
  *unwritten<R extends Row>(table: Table<R>, id: string): Statement<void> {
    for (;;) {
      const held = table.locks.get(id)
      if (!held || held.owner === this || !held.owner.wrote(plain(table), id)) return
      yield held
    }
  }

  /**
   * `select … for update` of one row: it is looked at before the lock and, after a wait, again; what does not match any
   * more is left out.
   */
  *hold<R extends Row>(table: Table<R>, id: string, matches: (row: R) => boolean): Statement<R | undefined> {
    const seen = this.get(table, id)
    if (!seen || !matches(seen)) return undefined
    yield* this.lock(table, id)
    const now = this.get(table, id)
    return now && matches(now) ? now : undefined
  }

  /** The same with `skip locked`. */
  holdFree<R extends Row>(table: Table<R>, id: string): R | undefined {
    return this.tryLock(table, id) ? this.get(table, id) : undefined
  }
}

/** True when waiting for that lock would never end: its owner waits, over others perhaps, for this session. */
export function isDeadlock(session: Session, lock: Lock): boolean {
  for (let next: Lock | undefined = lock; next; next = next.owner.waitsFor) if (next.owner === session) return true
  return false
}

/** What the server answers to the one that it picks. */
export const deadlock = () => sqlError('40P01', 'deadlock detected')
