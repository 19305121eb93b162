// Starts worker processes for tests, hears what they tell, and ends them with the test.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface FleetSettings {
  readonly url: string
  readonly mode: 'many' | 'hold' | 'one'
  readonly pool: number
  readonly concurrency?: number
  readonly lease?: `${number}s`
}

export type Told = Record<string, unknown>

const script = fileURLToPath(new URL('./fleet-worker.ts', import.meta.url))

export class WorkerProcess {
  readonly child: ChildProcess
  readonly told: Told[] = []
  readonly #listeners = new Set<() => void>()

  constructor(settings: FleetSettings) {
    this.child = fork(script, [JSON.stringify(settings)], {
      execArgv: ['--import', 'jiti/register'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.child.on('message', (message) => {
      this.told.push(message as Told)
      for (const listener of this.#listeners) listener()
    })
  }

  /** Resolves when `enough` holds for what was told so far. */
  async hears(enough: (told: readonly Told[]) => boolean): Promise<void> {
    if (enough(this.told)) return
    await new Promise<void>((resolve) => {
      const look = () => {
        if (!enough(this.told)) return
        this.#listeners.delete(look)
        resolve()
      }
      this.#listeners.add(look)
    })
  }

  ready(): Promise<void> {
    return this.hears((told) => told.some(({ ready }) => ready))
  }

  started(): string[] {
    return this.told.flatMap(({ started }) => (started ? [String(started)] : []))
  }

  signal(name: NodeJS.Signals): void {
    if (this.child.pid) process.kill(this.child.pid, name)
  }

  /** A graceful stop; returns how many statements it sent in its life. */
  async stop(): Promise<number> {
    this.child.send('stop')
    await this.hears((told) => told.some(({ statements }) => statements !== undefined))
    return Number(this.told.find(({ statements }) => statements !== undefined)?.statements)
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }
}
