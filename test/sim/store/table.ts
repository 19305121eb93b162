// One table of the model: immutable rows by id, indexes over what is committed, and the locks that sessions hold on rows.
import type { Session } from './session.ts'

/** A record of any table; it is replaced, never changed. */
export type Row = Readonly<Record<string, unknown>>

/** One row that somebody has locked, and who waits for it, in their order. */
export interface Lock {
  owner: Session
  readonly waiting: Waiting[]
}

/** A statement that stands still until it gets a lock. */
export interface Waiting {
  readonly session: Session
  /** Goes on; the lock is its own by then. */
  readonly go: () => void
  readonly fail: (error: Error) => void
}

/** Ids of rows by a value of theirs. */
export type Index = ReadonlyMap<string, ReadonlySet<string>>

/** What is committed of one table, and who has locked what. */
export class Table<R extends Row = Row> {
  readonly name: string
  readonly watched: boolean
  /** What is committed. */
  readonly rows = new Map<string, R>()
  readonly locks = new Map<string, Lock>()
  readonly #indexes: { readonly of: (row: R) => string | null; readonly ids: Map<string, Set<string>> }[] = []
  /** Raised when an id comes or goes: what was sorted before is old. */
  generation = 0

  /** `watched`: false for what is no table of the server's, but an index of one. Defaults to true. */
  constructor(name: string, watched = true) {
    this.name = name
    this.watched = watched
  }

  /** An index over the rows; null leaves a row out. Make it before the first row. */
  index(of: (row: R) => string | null): Index {
    const ids = new Map<string, Set<string>>()
    this.#indexes.push({ of, ids })
    return ids
  }

  /** Replaces a committed row; undefined removes it. */
  set(id: string, after: R | undefined): void {
    const before = this.rows.get(id)
    if (after) this.rows.set(id, after)
    else this.rows.delete(id)
    if (!before !== !after) this.generation++
    for (const { of, ids } of this.#indexes) {
      const was = before ? of(before) : null
      const is = after ? of(after) : null
      if (was === is) continue
      if (was !== null) drop(ids, was, id)
      if (is !== null) add(ids, is, id)
    }
  }

  /** The committed rows that an index finds. */
  *found(index: Index, value: string): Iterable<R> {
    for (const id of index.get(value) ?? []) {
      const row = this.rows.get(id)
      if (row) yield row
    }
  }
}

function add(ids: Map<string, Set<string>>, value: string, id: string): void {
  const set = ids.get(value)
  if (set) set.add(id)
  else ids.set(value, new Set([id]))
}

function drop(ids: Map<string, Set<string>>, value: string, id: string): void {
  const set = ids.get(value)
  set?.delete(id)
  if (set?.size === 0) ids.delete(value)
}
