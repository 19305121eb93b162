// The workers, and the supervisor that any platform has: one that dies is replaced a moment later.
import { identity, type Place, type StartedWorker, type WorkerNews } from './place.ts'

/** One worker as the screen shows it. */
export interface Member {
  readonly number: number
  readonly running: Set<string>
  state: 'starting' | 'working' | 'killed'
  worker?: StartedWorker
}

const replaceAfterMs = 2_000

export class Fleet {
  readonly #place: Place
  readonly #hear: (news: WorkerNews) => void
  readonly #replacing = new Set<NodeJS.Timeout>()
  readonly members: Member[] = []

  constructor(place: Place, hear: (news: WorkerNews) => void) {
    this.#place = place
    this.#hear = hear
  }

  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#add()))
  }

  /** Kills the busiest worker; returns it, and what it was running. */
  kill(): { number: number; keys: string[] } | undefined {
    const working = this.members.filter(({ state }) => state === 'working')
    const busiest = working.sort((a, b) => b.running.size - a.running.size)[0]
    if (!busiest) return undefined
    busiest.state = 'killed'
    busiest.worker?.kill()
    const timer = setTimeout(() => {
      this.#replacing.delete(timer)
      this.members.splice(this.members.indexOf(busiest), 1)
      void this.#add()
    }, replaceAfterMs)
    this.#replacing.add(timer)
    return { number: busiest.number, keys: [...busiest.running] }
  }

  async stop(): Promise<void> {
    for (const timer of this.#replacing) clearTimeout(timer)
    const working = this.members.filter(({ state }) => state === 'working')
    await Promise.all(working.map(({ worker }) => worker?.stop()))
  }

  #count = 0

  async #add(): Promise<void> {
    const member: Member = { number: ++this.#count, running: new Set(), state: 'starting' }
    this.members.push(member)
    member.worker = await this.#place.startWorker((news) => {
      // A dead worker tells nothing.
      if (member.state === 'killed') return
      if (news.kind === 'started') member.running.add(identity(news))
      else member.running.delete(identity(news))
      this.#hear(news)
    })
    member.state = 'working'
  }
}
