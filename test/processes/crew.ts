// Worker processes and their supervisor: whoever ends is replaced at once, as a platform would. It signals only processes
// that it started, by pid, and none of them outlives this one.
import { type ChildProcess, fork } from 'node:child_process'
import { release, supervise } from '../../tools/services/index.ts'

/** One place of the crew; the process in it changes. */
export interface Member {
  readonly place: number
  settings: object
  child: ChildProcess
  /** Ready and not stopped: a fault may choose it. */
  working: boolean
  /** It was told to end, or killed: its exit is no surprise. */
  ending: boolean
}

export class Crew {
  readonly members: Member[] = []
  /** Processes started in all. */
  started = 0
  /** Ended by SIGKILL that nobody sent: handlers that killed their own process. */
  crashes = 0
  /** Exits that nobody asked for, in words: a worker must not end by itself. */
  readonly surprises: string[] = []
  /** When each kill was sent, in ms of the machine's clock. */
  readonly killedAt: number[] = []
  /** What workers tell after they are ready. */
  heard: (message: unknown) => void = () => {}
  readonly #script: string
  #closing = false
  readonly #waiting = new Set<() => void>()

  constructor(script: string) {
    this.#script = script
  }

  /** Adds a place with a process in it. */
  add(settings: object): Member {
    const member = { place: this.members.length, settings, working: false, ending: false } as Member
    this.members.push(member)
    this.#start(member)
    return member
  }

  at(place: number): Member {
    const member = this.members[place]
    if (!member) throw new Error(`there is no worker ${place}`)
    return member
  }

  get working(): Member[] {
    return this.members.filter(({ working }) => working)
  }

  kill(member: Member): void {
    Object.assign(member, { working: false, ending: true })
    this.killedAt.push(Date.now())
    member.child.kill('SIGKILL')
  }

  /** A graceful stop; the place is filled again, with other settings where those are given. */
  term(member: Member, settings = member.settings): void {
    Object.assign(member, { working: false, ending: true, settings })
    member.child.kill('SIGTERM')
  }

  /** SIGSTOP now, SIGCONT after `ms`. */
  stop(member: Member, ms: number): void {
    const { child } = member
    member.working = false
    child.kill('SIGSTOP')
    setTimeout(() => {
      if (!child.kill('SIGCONT') || member.child !== child) return
      member.working = true
      this.#changed()
    }, ms)
  }

  /** Resolves when every place has a working process. */
  async complete(): Promise<void> {
    await this.#until(() => this.members.every(({ working }) => working))
  }

  /** Resolves when the place has another process than `before`, and it works. */
  async replaced(member: Member, before: ChildProcess): Promise<void> {
    await this.#until(() => member.child !== before && member.working)
  }

  /** Stops all gracefully; those that do not end in time are killed and named. */
  async close(withinMs = 30_000): Promise<void> {
    this.#closing = true
    const running = this.members.filter(({ child }) => isRunning(child))
    for (const member of running) {
      member.child.kill('SIGCONT')
      this.term(member)
    }
    const late = setTimeout(() => {
      for (const { child, place } of running.filter(({ child }) => isRunning(child))) {
        this.surprises.push(`worker ${place} did not end ${withinMs} ms after SIGTERM`)
        child.kill('SIGKILL')
      }
    }, withinMs)
    await this.#until(() => running.every(({ child }) => !isRunning(child)))
    clearTimeout(late)
  }

  #start(member: Member): void {
    this.started++
    const child = fork(this.#script, [JSON.stringify(member.settings)], {
      // Plain JavaScript starts five times as fast.
      execArgv: this.#script.endsWith('.mjs') ? [] : ['--import', 'jiti/register'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const { pid } = child
    Object.assign(member, { child, working: false, ending: false })
    if (pid !== undefined) supervise('server', pid, 'SIGKILL')
    child.once('message', () => {
      if (!member.ending) member.working = true
      child.on('message', (message) => this.heard(message))
      this.#changed()
    })
    child.once('exit', (code, signal) => {
      if (pid !== undefined) release('server', pid)
      if (signal === 'SIGKILL' && !member.ending) this.crashes++
      else if (code !== 0 && !(member.ending && signal !== null))
        this.surprises.push(`worker ${member.place} ended with ${signal ?? code}`)
      member.working = false
      if (!this.#closing) this.#start(member)
      this.#changed()
    })
  }

  #changed(): void {
    for (const look of this.#waiting) look()
  }

  async #until(reached: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const look = () => {
        if (!reached()) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }
}

const isRunning = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null
