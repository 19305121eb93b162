// The workers, and the supervisor that any platform has: one that dies is replaced a moment later.
import { identity, type Place, type StartedWorker, type WorkerNews } from './place.ts'

/** One worker as the screen shows it. */
export interface Member {
  readonly number: number
  /** What it is running, each as `job key`. */
  readonly running: Set<string>
  state: 'starting' | 'working' | 'killed'
  worker?: StartedWorker
}

const replaceAfterMs = 2_000

export class Fleet {
  readonly #place: Place
  readonly #hear: (news: WorkerNews) => void
  readonly #died: (member: Member) => void
  #made = 0
  #stopping = false
  readonly members: Member[] = []
  /** Workers that died or were just killed. */
  deaths = 0

  constructor(place: Place, hear: (news: WorkerNews) => void, died: (member: Member) => void) {
    this.#place = place
    this.#hear = hear
    this.#died = died
  }

  async start(count: number): Promise<void> {
    for (let i = 0; i < count; i++) this.members.push(this.#newMember())
    await Promise.all(this.members.map((member) => this.#bringUp(member)))
  }

  /** Kills the busiest worker; false when none is up. */
  kill(): boolean {
    const working = this.members.filter(({ state }) => state === 'working')
    const busiest = working.sort((a, b) => b.running.size - a.running.size)[0]
    if (!busiest) return false
    this.#bury(busiest)
    busiest.worker?.kill()
    return true
  }

  async stop(): Promise<void> {
    this.#stopping = true
    const working = this.members.filter(({ state }) => state === 'working')
    await Promise.all(working.map(({ worker }) => worker?.stop()))
  }

  #newMember(): Member {
    return { number: ++this.#made, running: new Set(), state: 'starting' }
  }

  async #bringUp(member: Member): Promise<void> {
    const worker = await this.#place.startWorker((news) => {
      if (news.kind === 'started') member.running.add(identity(news))
      else member.running.delete(identity(news))
      this.#hear(news)
    })
    Object.assign(member, { worker, state: 'working' })
    void worker.ended.then(() => {
      if (this.#stopping) return
      if (member.state !== 'killed') this.#bury(member)
      this.#died(member)
      this.#replace(member)
    })
  }

  #bury(member: Member): void {
    member.state = 'killed'
    this.deaths++
  }

  #replace(dead: Member): void {
    setTimeout(() => {
      if (this.#stopping) return
      const member = this.#newMember()
      this.members.splice(this.members.indexOf(dead), 1, member)
      // One that does not come up is another one to replace.
      this.#bringUp(member).catch(() => this.#replace(member))
    }, replaceAfterMs)
  }
}
