// Runs statements and ends sessions. Every committed change passes here once: it is journalled, told to the watcher, and
// can be taken back as long as no later commit made it durable.
import { RegrowError } from '../../../src/base/errors.ts'
import { deadlock, isDeadlock, Session, type Statement } from './session.ts'
import { sqlError, terminated } from './sql-error.ts'
import type { Lock, Row, Table } from './table.ts'

/** One committed change of a row. */
export interface Change {
  readonly table: string
  readonly id: string
  readonly before: Row | undefined
  readonly after: Row | undefined
  /** What made it: `ledger.take`, `transaction`, `app.put`, `restart`. */
  readonly statement: string
}

interface Undo {
  readonly table: Table
  readonly id: string
  readonly before: Row | undefined
}

/** Runs statements, and keeps the journal. */
export class Engine {
  watch: (change: Change) => void = () => {}
  /** Commits since the last durable one, oldest first. */
  #asynchronous: Undo[][] = []
  /** Sessions that outlive the call that made them. */
  readonly #open = new Set<Session>()
  /** Statements that got their lock. */
  readonly #ready: (() => void)[] = []
  #draining = false

  begin(): Session {
    const session = new Session()
    this.#open.add(session)
    return session
  }

  /** A statement with a commit of its own. */
  autocommit<T>(name: string, work: (session: Session) => Statement<T>, { quick = false } = {}): Promise<T> {
    const session = new Session()
    return this.#run(session, work(session), () => this.#commit(session, name, quick))
  }

  /** A statement with a commit of its own that waits for nobody. */
  atOnce<T>(name: string, work: (session: Session) => T, { quick = false } = {}): Promise<T> {
    const session = new Session()
    try {
      const answer = work(session)
      this.#commit(session, name, quick)
      return Promise.resolve(answer)
    } catch (error) {
      this.rollback(session)
      return Promise.reject(error)
    }
  }

  /** A statement inside a transaction. One that fails leaves nothing to do but to end it. */
  within<T>(session: Session, work: (session: Session) => Statement<T>): Promise<T> {
    try {
      assertUsable(session)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#run(session, work(session), () => {})
  }

  /** `within` a transaction where one is given, else `autocommit`. */
  run<T>(name: string, session: Session | undefined, work: (session: Session) => Statement<T>): Promise<T> {
    return session ? this.within(session, work) : this.autocommit(name, work)
  }

  commit(session: Session, name = 'transaction'): void {
    if (session.state === 'failed') {
      this.rollback(session)
      throw new RegrowError(
        'rolled_back',
        'A statement of the transaction failed and its error was caught, so nothing was committed',
        'Let the error pass.',
      )
    }
    assertUsable(session)
    this.#commit(session, name, false)
  }

  rollback(session: Session): void {
    // Given up in the middle of a statement, which ends with it: left in line it would get its lock later, and keep it for ever.
    if (session.waitsFor) {
      this.kill(session)
      return
    }
    if (session.state === 'open' || session.state === 'failed') session.state = 'ended'
    session.writes.clear()
    this.#release(session)
  }

  /** Ends a session from outside: what it wrote is gone, what it waits for fails. */
  kill(session: Session): void {
    if (session.state === 'ended' || session.state === 'killed') return
    session.state = 'killed'
    this.#bury(session)
  }

  #bury(session: Session): void {
    const lock = session.waitsFor
    const at = lock?.waiting.findIndex((waiting) => waiting.session === session) ?? -1
    const [waiting] = lock && at >= 0 ? lock.waiting.splice(at, 1) : []
    session.waitsFor = undefined
    if (waiting) waiting.fail(terminated())
    this.rollback(session)
  }

  /** The server crashes: see `SimDatabase.restart`. */
  restart(lose: (asyncCommits: number) => number): number {
    // All at once: who waits for a lock must not get it from another who dies first.
    const sessions = [...this.#open]
    for (const session of sessions) session.state = 'killed'
    for (const session of sessions) this.#bury(session)
    const lost = Math.min(this.#asynchronous.length, Math.max(0, lose(this.#asynchronous.length)))
    for (const changes of this.#asynchronous.splice(this.#asynchronous.length - lost).reverse())
      for (const { table, id, before } of changes.reverse()) this.#write(table, id, before, 'restart')
    this.flush()
    return lost
  }

  flush(): void {
    this.#asynchronous = []
  }

  #commit(session: Session, name: string, quick: boolean): void {
    const changes: Undo[] = []
    for (const [table, rows] of session.writes)
      for (const [id, row] of rows) {
        const before = table.rows.get(id)
        if (before === row) continue
        changes.push({ table, id, before })
        this.#write(table, id, row, name)
      }
    // A commit that waits for the disk takes all before it along.
    if (!quick && (changes.length > 0 || session.locks.length > 0)) this.flush()
    else if (changes.length > 0) this.#asynchronous.push(changes)
    session.state = 'ended'
    this.#release(session)
  }

  #write(table: Table, id: string, after: Row | undefined, statement: string): void {
    const before = table.rows.get(id)
    table.set(id, after)
    if (table.watched) this.watch({ table: table.name, id, before, after, statement })
  }

  /** Hands each lock to whoever waits for it first. */
  #release(session: Session): void {
    this.#open.delete(session)
    for (const { table, id } of session.locks.splice(0)) {
      const lock = table.locks.get(id)
      const next = lock?.waiting.shift()
      if (!lock || !next) {
        table.locks.delete(id)
        continue
      }
      lock.owner = next.session
      next.session.locks.push({ table, id })
      next.session.waitsFor = undefined
      this.#ready.push(next.go)
    }
    this.#drain()
  }

  #drain(): void {
    if (this.#draining) return
    this.#draining = true
    for (let go = this.#ready.shift(); go; go = this.#ready.shift()) go()
    this.#draining = false
  }

  /** Runs a statement until it is over or waits; `done` commits it where it is alone. */
  #run<T>(session: Session, statement: Statement<T>, done: () => void): Promise<T> {
    const single = !this.#open.has(session)
    let answer: T | undefined
    /** The lock that it waits for; null: it is over. */
    const step = (): Lock | null => {
      const { value, done: over } = statement.next()
      if (!over) {
        if (isDeadlock(session, value)) throw deadlock()
        return value
      }
      answer = value
      done()
      return null
    }
    const failed = (reason: unknown) => {
      if (session.state === 'open') session.state = 'failed'
      if (single) this.rollback(session)
      return reason
    }
    let first: Lock | null
    try {
      first = step()
    } catch (reason) {
      return Promise.reject(failed(reason))
    }
    if (!first) return Promise.resolve(answer as T)
    const blocker = first
    return new Promise((resolve, reject) => {
      const wait = (on: Lock) => {
        this.#open.add(session)
        session.waitsFor = on
        on.waiting.push({ session, go, fail: reject })
      }
      const go = () => {
        // Killed between the moment it got its lock and this one.
        if (session.state === 'killed') return reject(terminated())
        try {
          const next = step()
          if (next) wait(next)
          else resolve(answer as T)
        } catch (reason) {
          reject(failed(reason))
        }
      }
      wait(blocker)
    })
  }
}

/** Throws what the server would answer to a statement now. */
function assertUsable(session: Session): void {
  if (session.state === 'killed') throw terminated()
  if (session.state === 'failed') throw sqlError('25P02', 'current transaction is aborted, commands are ignored')
  if (session.state === 'ended')
    throw new RegrowError(
      'tx_over',
      'A statement on a transaction that has ended',
      'Await every statement inside the function that ctx.tx or app.transaction was given.',
    )
}
