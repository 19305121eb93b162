// What is hostile and no outage: rows whose key cannot be a key or whose run_at is infinite, a queue that refuses a push for one of its
// hints, a pending query that a row breaks for a while, and a forged mark in the queue. Drawn apart from the plan, so that a seed plays the
// same with and without them.
import { RegrowError } from '../../src/base/errors.ts'
import type { Mark } from '../../src/job/canary-mark.ts'
import { isKeyLength } from '../../src/job/key.ts'
import type { Hint } from '../../src/queue/hint.ts'
import { badHint } from '../../src/queue/queue.ts'
import { bill, render, ship } from './cast.ts'
import { type Blow, Draw } from './plan.ts'
import { seededRandom } from './seeded-random.ts'
import type { AppTx } from './store/app-tx.ts'
import { sqlError } from './store/sql-error.ts'
import type { SimWorld } from './world.ts'

export type HostileKind = 'hostile row' | 'hint refused' | 'page broken' | 'infinite run_at' | 'mark forged'

const kinds: readonly HostileKind[] = ['hostile row', 'hint refused', 'page broken', 'infinite run_at']
const againMs = 300
/** What the index of a queue in Postgres takes. */
const indexBytes = 2_704

export function hostileOf(seed: number, stormMs: number): Blow[] {
  const draw = new Draw(seededRandom(seed * 11 + 5))
  const forging = new Draw(seededRandom(seed * 13 + 7))
  const some = (by: Draw, kind: HostileKind): Blow[] =>
    Array.from({ length: by.whole(1, 3) }, () => ({
      kind,
      atMs: by.between(0, stormMs),
      ms: by.between(500, 10_000),
    }))
  return [
    ...kinds.filter(() => draw.chance(0.3)).flatMap((kind) => some(draw, kind)),
    ...(forging.chance(0.2) ? some(forging, 'mark forged') : []),
  ]
}

/** Marks that somebody writes who is not regrow; `there`: the one that is in the queue. */
const forgeries = (there: Mark): readonly Mark[] => [
  { epoch: Number.MAX_SAFE_INTEGER, sequence: 0 },
  { epoch: 2 ** 53, sequence: 1 },
  { epoch: there.epoch + 1, sequence: 0 },
  { epoch: there.epoch, sequence: Number.MAX_SAFE_INTEGER - 1 },
  { epoch: -1, sequence: Number.NaN },
]

/** Keys between those of good rows: some that only a worker would refuse, and some that no index holds. */
const hostileKeys = [
  `o1${'x'.repeat(3_000)}`,
  `o10${'é'.repeat(600)}`,
  `o5${'y'.repeat(1_500)}`,
  `z${'z'.repeat(5_000)}`,
]

/** A row of bills that is due at infinity: never. As text, since JSON has no infinities. */
const never = { key: JSON.stringify(['0', 'never']), row: { state: 'pending', generation: 1, runAtMs: 'Infinity' } }

export class Hostile {
  /** Hostile rows that are committed, by key. */
  readonly rows = new Set<string>()
  readonly #world: SimWorld
  /** Keys that end like this are refused. */
  #refused: string | null = null
  #broken: string | null = null

  constructor(world: SimWorld) {
    this.#world = world
  }

  async strike({ kind, ms }: Blow & { kind: HostileKind }): Promise<void> {
    const { kernel, tally } = this.#world
    const pick = Math.floor(ms)
    if (kind === 'hostile row') return this.#write(hostileKeys[pick % hostileKeys.length] as string)
    if (kind === 'hint refused') {
      this.#refused = String(pick % 10)
      kernel.after(ms, () => {
        this.#refused = null
      })
      return
    }
    if (kind === 'mark forged') return this.#forge(pick)
    if (kind === 'infinite run_at') return pick % 3 === 0 ? this.#writeNever() : this.#makeDue()
    tally.fault('pending query broken by a row')
    this.#broken = pick % 2 === 0 ? ship.name : render.name
    kernel.after(ms, () => {
      this.#broken = null
    })
  }

  end(): void {
    this.#refused = null
    this.#broken = null
  }

  /** Throws as a queue does that cannot hold one of them. */
  push(hints: readonly Hint[]): void {
    const refused = this.#refused
    const bad = hints.find(
      ({ key }) => Buffer.byteLength(key) > indexBytes || (refused !== null && key.endsWith(refused)),
    )
    if (!bad) return
    this.#world.tally.fault('push refused for one of its hints')
    throw new RegrowError(badHint, `The queue cannot hold ${bad.key.slice(0, 40)}`, 'Look at its key.')
  }

  /** Throws as the server does when a row breaks the query that is asked for a page. */
  arrives(call: string): void {
    if (this.#broken !== null && call === `source(${this.#broken}).page`) throw sqlError('22012', 'division by zero')
  }

  /** L6: each of these rows is counted by the sweep of its job, and none of them ever becomes a hint. */
  check(jobs: readonly string[]): void {
    const { db, oracle, server } = this.#world
    if (this.rows.size === 0 || !jobs.includes(ship.name)) return
    const counted = db.sweeps.get(ship.name)?.unusable
    oracle.check('L6', Number(counted) === this.rows.size, () => `${counted} of ${this.rows.size} hostile rows counted`)
    const hinted = server?.queue.all().find(({ job, key }) => job === ship.name && !isKeyLength(key))
    oracle.check('L6', hinted === undefined, () => `a hostile row is hinted: ${hinted?.key.slice(0, 20)}`)
  }

  #forge(pick: number): void {
    const { server, tally } = this.#world
    if (!server) return
    const all = forgeries(server.queue.snapshot().mark ?? { epoch: 1, sequence: 0 })
    server.queue.setMark(all[pick % all.length] as Mark)
    tally.fault('mark of the queue forged')
  }

  async #write(key: string): Promise<void> {
    await this.#commit((tx) => tx.put(ship.table, key, { state: 'pending', generation: 1, runAtMs: null }))
    this.rows.add(key)
    this.#world.tally.fault('row whose key cannot be a key')
  }

  async #writeNever(): Promise<void> {
    await this.#commit((tx) => tx.put(bill.table, never.key, never.row))
    this.#world.tally.fault('row whose run_at is infinity')
  }

  /** L6: a pending bill becomes due since ever, and stops no other one. */
  async #makeDue(): Promise<void> {
    const found = await this.#commit(async (tx) => {
      for (const { text } of bill.keys) {
        const row = await tx.lock(bill.table, text)
        if (row?.state !== 'pending') continue
        await tx.put(bill.table, text, { ...row, runAtMs: '-Infinity' })
        return true
      }
      return false
    })
    if (found) this.#world.tally.fault('row whose run_at is -infinity')
  }

  /** Tries until it is committed. */
  async #commit<T>(work: (tx: AppTx) => Promise<T>): Promise<T> {
    const { db, kernel, network } = this.#world
    for (;;) {
      if (!network.servers.store.down) {
        const tx = db.begin()
        try {
          const value = await work(tx)
          await tx.commit()
          return value
        } catch {
          db.kill(tx)
        }
      }
      await kernel.passed(againMs)
    }
  }
}
