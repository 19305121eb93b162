// The real command line as a child process, on the built package, in a project of its own inside .tmp/.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist', 'cli', 'main.js')

/** What a finished command left behind. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Builds dist/ when the sources changed. Call it in beforeAll. */
export const built = () => promisify(execFile)(process.execPath, ['scripts/setup.mjs'], { cwd: root })

/** A folder in which `regrow` and the packages of this repository can be imported. */
export class Project {
  readonly dir: string
  readonly env: Record<string, string>
  readonly #children: ChildProcess[] = []

  /** `env` is all of the environment that a command sees besides PATH. Defaults to a new folder. */
  constructor(env: Record<string, string> = {}, dir?: string) {
    mkdirSync(join(root, '.tmp'), { recursive: true })
    this.dir = dir ?? mkdtempSync(join(root, '.tmp', 'project-'))
    this.env = env
    mkdirSync(join(this.dir, 'node_modules'))
    symlinkSync(root, join(this.dir, 'node_modules', 'regrow'))
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.dir, path), text)
  }

  /** Starts `regrow …args`. */
  start(...args: readonly string[]): Running {
    return this.node(main, ...args)
  }

  /** Starts a program of the project. */
  node(...args: readonly string[]): Running {
    const child = spawn(process.execPath, args, {
      cwd: this.dir,
      env: { PATH: process.env.PATH as string, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#children.push(child)
    return new Running(child)
  }

  /** Runs `regrow …args` to its end. */
  run(...args: readonly string[]): Promise<Ended> {
    return this.start(...args).ended
  }

  /** Runs `regrow …args --json`, expects `code`, and answers the document. */
  async json<T = Record<string, unknown>>(args: readonly string[], code = 0): Promise<T> {
    const ended = await this.run(...args, '--json')
    if (ended.code !== code)
      throw new Error(`regrow ${args.join(' ')} ended with ${ended.code}:\n${ended.stdout}\n${ended.stderr}`)
    return JSON.parse(ended.stdout) as T
  }

  remove(): void {
    for (const child of this.#children) child.kill('SIGKILL')
    rmSync(this.dir, { recursive: true, force: true })
  }
}

/** A command while it runs. */
export class Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  readonly #text = { stdout: '', stderr: '' }
  readonly #listeners = new Set<() => void>()

  constructor(child: ChildProcess) {
    this.child = child
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream]?.setEncoding('utf8').on('data', (text: string) => {
        this.#text[stream] += text
        for (const listener of this.#listeners) listener()
      })
    this.ended = new Promise((resolve) => child.once('close', (code) => resolve({ code, ...this.#text })))
  }

  /** Resolves when either stream holds `text`; rejects when the command ends without it. */
  says(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!this.#text.stdout.includes(text) && !this.#text.stderr.includes(text)) return
        this.#listeners.delete(look)
        resolve()
      }
      this.#listeners.add(look)
      look()
      void this.ended.then(({ code, stdout, stderr }) =>
        reject(new Error(`it ended with ${code} and never said "${text}":\n${stdout}\n${stderr}`)),
      )
    })
  }
}
