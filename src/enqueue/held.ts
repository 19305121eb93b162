// Callers whose id or unique text another open transaction holds. They wait here, and keep no connection while they do: each is
// tried again, one after the other, until that transaction has ended or the caller's patience has. In: a caller whose name was
// found held. Out: its own report or error.
import type { Clock } from '../base/clock.ts'
import { readable } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import type { Classify } from '../store/errors.ts'
import type { Intents, OpenWriter } from '../store/intents.ts'
import { type Caller, type CallerPorts, namesOf, recordFor } from './caller.ts'

export interface HeldPorts extends CallerPorts {
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly intents: Pick<Intents, 'record' | 'openWriters'>
  readonly classify: Classify
}

interface Waiting {
  readonly job: string
  readonly caller: Caller
  readonly names: readonly string[]
  readonly endsAt: number
}

/** As long as any statement of ours may take. */
const patienceMs = 20_000
/** Between two rounds: little at first, since most transactions are short. */
const delaysMs = { least: 10, most: 250 }

export class Held {
  readonly #ports: HeldPorts
  #waiting: Waiting[] = []
  #names = new Map<string, number>()
  #going = false

  constructor(ports: HeldPorts) {
    this.#ports = ports
  }

  /** True when a caller waits for one of these names: another one with it need not try. */
  has(job: string, names: readonly string[]): boolean {
    return names.some((name) => this.#names.has(`${job} ${name}`))
  }

  add(job: string, caller: Caller): void {
    const names = namesOf(caller.row).map((name) => `${job} ${name}`)
    for (const name of names) this.#names.set(name, (this.#names.get(name) ?? 0) + 1)
    this.#waiting.push({ job, caller, names, endsAt: this.#ports.clock.now() + patienceMs })
    if (!this.#going) void this.#go()
  }

  async #go(): Promise<void> {
    this.#going = true
    let delayMs = delaysMs.least
    while (this.#waiting.length > 0) {
      await this.#ports.clock.sleep(delayMs)
      const before = this.#waiting.length
      await this.#round()
      delayMs = this.#waiting.length < before ? delaysMs.least : Math.min(delayMs * 1.5, delaysMs.most)
    }
    this.#going = false
  }

  /** One at a time, so that one connection is used at most; of those with the same name the first. */
  async #round(): Promise<void> {
    const seen = new Set<string>()
    for (const each of this.#waiting) {
      const first = !each.names.some((name) => seen.has(name))
      for (const name of each.names) seen.add(name)
      if (first && (await this.#try(each))) this.#leave(each)
      else if (this.#ports.clock.now() >= each.endsAt) {
        this.#leave(each)
        await this.#giveUp(each)
      }
    }
  }

  /** False when its name is still held. */
  async #try({ job, caller }: Waiting): Promise<boolean> {
    try {
      await recordFor(this.#ports, job, [caller], () => {})
    } catch (error) {
      if (this.#ports.classify(error) === 'lock_timeout') return false
      caller.reject(error)
    }
    return true
  }

  #leave(gone: Waiting): void {
    this.#waiting = this.#waiting.filter((each) => each !== gone)
    for (const name of gone.names) {
      const left = (this.#names.get(name) ?? 1) - 1
      if (left > 0) this.#names.set(name, left)
      else this.#names.delete(name)
    }
  }

  async #giveUp({ job, caller }: Waiting): Promise<void> {
    const writers = await this.#ports.intents.openWriters().catch(() => [])
    caller.reject(nameHeld(job, caller, writers))
  }
}

function nameHeld(job: string, { row }: Caller, writers: readonly OpenWriter[]): RegrowError {
  const name = row.uniqueKey === null ? `the \`id\` ${row.id}` : `\`unique\` ${JSON.stringify(row.uniqueKey)}`
  const known = writers.length > 0 ? `; open transactions that wrote intents: ${writers.map(described).join(', ')}` : ''
  return new RegrowError(
    'unique_held',
    `Another transaction holds ${name} of "${job}", and did not end within ${readable(patienceMs)}${known}`,
    'Nothing was stored. Call again when it has ended: a transaction that enqueues has to commit or roll back soon. One that was left open is ended by `select pg_terminate_backend(<process>)`.',
  )
}

function described({ process, application, state, openMs }: OpenWriter): string {
  if (process === null) return 'a prepared one (see pg_prepared_xacts)'
  const details = [
    application === null ? '' : JSON.stringify(application),
    [state ?? '', openMs === null ? '' : `for ${readable(Math.round(openMs))}`].filter(Boolean).join(' '),
  ].filter(Boolean)
  return `process ${process}${details.length > 0 ? ` (${details.join(', ')})` : ''}`
}
