// The users' path: customers sign up. The row and the e-mail's intent commit together; the enqueue is only for speed.
import { randomUUID } from 'node:crypto'
import type { App } from 'regrow'
import type { ControlPlane } from './control-plane.ts'
import { poisonId } from './provider.ts'

export class Customers {
  readonly #app: App
  readonly #jobs: ControlPlane
  signedUp = 0
  /** Databases whose enqueue was left out, as if the web server had died before that line. */
  neverEnqueued = 0

  constructor(app: App, jobs: ControlPlane) {
    this.#app = app
    this.#jobs = jobs
  }

  /** `count` customers at once. The fifth of all asks for what no cloud has: the poison row. */
  async signUp(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const id = ++this.signedUp === 5 ? poisonId : randomUUID()
      await this.#app.transaction(async (tx) => {
        await tx.query(`insert into regrow_demo.databases (id) values ($1)`, [id])
        await this.#jobs.welcomeEmail.enqueue({ to: `owner@${id}.example`, database: id }, { tx, id })
      })
      if (this.signedUp % 4 === 0) this.neverEnqueued++
      else await this.#jobs.createDatabase.enqueue(id)
    }
  }
}
