// Upper arrow, end: pop, take, check, run, settle. A worker that dies does nothing special; others free what it had. (src/worker)
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { App, Tx } from './declare.ts'
import { beat, type Claim, isPending, leaseMs, settle, take } from './store.ts'

export class Worker {
  readonly #app: App & { readonly concurrency: number }
  readonly #id = randomUUID()
  readonly #ended: Promise<unknown>
  readonly #runs = new Set<Promise<void>>()
  #takes = 0
  #state: 'live' | 'stopping' | 'dead' = 'live'

  constructor(app: App & { readonly concurrency: number }) {
    this.#app = app
    this.#ended = Promise.all([this.#beat(), this.#pop()])
  }

  /** Lets what runs end. */
  async stop(): Promise<void> {
    this.#state = 'stopping'
    await this.#ended
    await Promise.all(this.#runs)
  }

  /** As by `kill -9`: no beat, no answer, nothing given back. */
  die(): void {
    this.#state = 'dead'
  }

  async #beat(): Promise<void> {
    while (this.#state === 'live') {
      await beat(this.#app.db, this.#id)
      await sleep(leaseMs / 3)
    }
  }

  async #pop(): Promise<void> {
    const { queue, concurrency } = this.#app
    while (this.#state === 'live') {
      for (const key of queue.pop(concurrency - this.#runs.size)) {
        const run = this.#process(key).finally(() => this.#runs.delete(run))
        this.#runs.add(run)
      }
      await sleep(2)
    }
  }

  /** One key: take, check, run, settle. */
  async #process(key: string): Promise<void> {
    const { db, job } = this.#app
    const claim: Claim = { holder: this.#id, key, take: ++this.#takes }
    if (!(await take(db, claim))) return
    if (await isPending(db, job.pending, key)) await job.run(key, this.#txOf(claim))
    else await settle(db, claim)
  }

  /** Effects and outcome commit together, or not at all. */
  #txOf(claim: Claim): Tx {
    return async (effects) => {
      if (this.#state === 'dead') return new Promise(() => {})
      await this.#app.db.transaction(async (tx) => {
        await effects(tx)
        if (!(await settle(tx, claim))) await tx.rollback()
      })
    }
  }
}
