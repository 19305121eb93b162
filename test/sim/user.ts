// Plays a script: writes rows and intents, and enqueues. The application's writes are its own and are tried until they are
// done; an enqueue is sent once, and what becomes of it is what the history is about.
import type { Chance } from '../../src/base/random.ts'
import type { Deed } from './cast.ts'
import type { Fleet, Member } from './fleet.ts'
import type { Kernel } from './kernel.ts'
import type { Network } from './network.ts'
import type { Oracle } from './oracle.ts'
import type { Action, RecordIntent, RemoveRow, WriteRow } from './script.ts'
import { beginningMs } from './sim-process.ts'
import type { AppRow } from './store/database.ts'
import type { Tally } from './tally.ts'
import type { Trace } from './trace.ts'
import type { OwnTx } from './truth.ts'

export interface UserSurroundings {
  readonly kernel: Kernel
  readonly network: Network
  readonly tally: Tally
  readonly trace: Trace
  readonly oracle: () => Oracle
  readonly fleet: () => Fleet
  readonly chance: Chance
  readonly begin: () => OwnTx
  /** An intent `key` was said to do what was asked for at `atMs`. */
  readonly accepted: (key: string, atMs: number) => void
  /** Rolls a transaction back, whatever state it is in. */
  readonly kill: (tx: OwnTx) => void
}

/** What a key is now, by the last write that was committed. */
export interface Standing {
  readonly deed: Deed
  readonly generation: number
  readonly removed: boolean
  readonly dueMs: number
  /** The unique text of an intent. */
  readonly unique?: string | null
  /** The intent was merged into another one. */
  readonly merged?: boolean
}

const againMs = 300
/** S16: no call of an application waits longer than its deadlines. */
const patienceMs = 60_000

export class User {
  /** By job and key. */
  readonly standing = new Map<string, Standing>()
  /** Actions that are not done yet. */
  busy = 0
  readonly #around: UserSurroundings
  /** The last generation of each key that was committed: a row that was removed begins anew, its generations do not. */
  readonly #written = new Map<string, number>()
  /** By key, the last act on it. */
  readonly #last = new Map<string, Promise<void>>()
  readonly #web: Member

  constructor(around: UserSurroundings) {
    this.#around = around
    this.#web = around.fleet().start([])
  }

  play(actions: readonly Action[]): void {
    for (const action of actions) {
      this.busy++
      this.#around.kernel.after(action.atMs, () => void this.act(action).finally(() => this.busy--))
    }
  }

  /** Does one action now; those of one key one after the other, so that faults do not change what comes of them. */
  act(action: Action): Promise<void> {
    const id = action.kind === 'intent' ? action.id : `${action.part.name} ${action.key.text}`
    this.busy++
    const done = (this.#last.get(id) ?? Promise.resolve()).then(() => this.#do(action)).finally(() => this.busy--)
    this.#last.set(id, done)
    return done
  }

  /** What a person asks of the application, until it is done. */
  async operate(act: (app: Member['app']) => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await act(this.#web.app)
        return
      } catch {
        await this.#around.kernel.passed(againMs)
      }
    }
  }

  deedOf(job: string, key: string): Deed | undefined {
    return this.standing.get(`${job}\u0000${key}`)?.deed
  }

  generationOf(job: string, key: string): number {
    return this.standing.get(`${job}\u0000${key}`)?.generation ?? 1
  }

  #do(action: Action): Promise<void> {
    if (action.kind === 'intent') return this.#record(action)
    return action.kind === 'write' ? this.#write(action) : this.#remove(action)
  }

  async #write(action: WriteRow): Promise<void> {
    const { part, key, deed, inMs, heldMs } = action
    const { kernel, tally } = this.#around
    if (action.enqueue === 'before') {
      tally.fault('enqueue before the row was committed')
      this.#enqueue(action)
    }
    await this.#untilDone(action, async (tx) => {
      const before = await tx.lock(part.table, key.text)
      const id = `${part.name}\u0000${key.text}`
      const generation = Math.max(Number(before?.generation ?? 0), this.#written.get(id) ?? 0) + 1
      const dueMs = beginningMs + kernel.now() + (inMs ?? 0)
      const row: AppRow = { state: 'pending', generation, runAtMs: inMs === null ? null : dueMs }
      // From now on the key is known: its handler may start in the moment of the commit.
      if (!this.standing.has(id)) this.#note(part.name, key.text, { deed, generation, removed: false, dueMs })
      await tx.put(part.table, key.text, row)
      if (heldMs > 0) {
        await kernel.passed(heldMs)
        tally.fault('row committed late under a lower key')
      }
      if (this.#around.oracle().isRunning(part.name, key.text)) tally.fault('row changed while its handler ran')
      await tx.commit()
      this.#written.set(id, generation)
      this.#note(part.name, key.text, { deed, generation, removed: false, dueMs })
    })
    if (action.enqueue === 'after') this.#enqueue(action)
    if (action.enqueue === 'never') tally.fault('enqueue never sent')
  }

  async #remove(action: RemoveRow): Promise<void> {
    const { part, key } = action
    await this.#untilDone(action, async (tx) => {
      await tx.remove(part.table, key.text)
      await tx.commit()
      const known = this.standing.get(`${part.name}\u0000${key.text}`)
      if (known) this.#note(part.name, key.text, { ...known, deed: 'ok', removed: true })
    })
  }

  async #untilDone(action: Action, work: (tx: OwnTx) => Promise<void>): Promise<void> {
    const { kernel, network, trace, begin, kill } = this.#around
    for (;;) {
      if (!network.servers.store.down) {
        const tx = begin()
        try {
          await work(tx)
          trace.tell('user', action.kind, () => told(action))
          return
        } catch {
          // By a restart or a deadlock: the application does it again.
          kill(tx)
        }
      }
      await kernel.passed(againMs)
    }
  }

  async #record(action: RecordIntent): Promise<void> {
    const { kernel, trace, tally } = this.#around
    const { part, id, deed, inMs, heldMs, unique = null } = action
    const standing = { deed, generation: 1, removed: false, dueMs: beginningMs + kernel.now() + inMs, unique }
    const options = { id, in: inMs, ...(unique === null ? {} : { unique }) }
    this.#note(part.name, id, standing)
    const firstMs = kernel.now()
    const job = this.#web.declared.get(part.name) as NonNullable<ReturnType<Member['declared']['get']>>
    for (;;) {
      const sentAt = kernel.now()
      let askedMs = sentAt
      let key = ''
      try {
        if (heldMs > 0)
          await this.#web.app.transaction(async (tx) => {
            key = (await job.enqueue({ deed }, { ...options, tx })).key
            await kernel.passed(heldMs)
            askedMs = kernel.now()
          })
        else key = (await job.enqueue({ deed }, options)).key
        // A call whose answer was lost may have been accepted before.
        if (unique !== null) this.#around.accepted(key, key === id ? firstMs : askedMs)
        if (key !== id) {
          tally.fault('input merged by its unique text')
          this.#note(part.name, id, { ...standing, merged: true })
        }
        trace.tell('user', 'recorded', () => told(action))
        return
      } catch {
        // The store was away, or nobody knows: once more with the same id.
      } finally {
        const tookMs = kernel.now() - sentAt
        this.#around.oracle().check('S16', tookMs < patienceMs + heldMs, () => `an enqueue took ${tookMs} ms`)
      }
      await kernel.passed(againMs)
    }
  }

  #enqueue({ part, key }: WriteRow): void {
    const { chance, fleet } = this.#around
    const workers = fleet()
      .working()
      .filter(({ process }) => process.state === 'up')
    const own = chance.float() < 0.7 ? undefined : workers[Math.floor(chance.float() * workers.length)]
    const member = own ?? this.#web
    void member.declared
      .get(part.name)
      ?.enqueue(key.value)
      .catch(() => {})
  }

  #note(job: string, key: string, standing: Standing): void {
    this.standing.set(`${job}\u0000${key}`, standing)
  }
}

function told(action: Action): string {
  if (action.kind === 'intent') return `${action.part.name} ${action.id} ${action.deed}`
  const what = action.kind === 'write' ? `${action.deed}, enqueue ${action.enqueue}` : ''
  return `${action.part.name} ${action.key.text} ${what}`
}
