// Lets a finder loose on a copy of the sources, for a bounded time, and reads from what it prints whether it found a bug.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Finder } from './mutant.ts'

export interface Found {
  /** True when an invariant was broken, an answer differed, or a test failed; false: it was not seen. */
  readonly found: boolean
  /** What found it, or why nothing did. */
  readonly how: string
  /** Histories that it took; null: it was not the simulator. */
  readonly seeds: number | null
}

/** `seeds`: histories at most; `timeMs`: all of it. */
export interface Patience {
  readonly seeds: number
  readonly timeMs: number
}

interface Ran {
  readonly output: string
  readonly code: number | null
}

/** Finders that run now, each with a process group of its own. */
const running = new Set<number>()

/** Ends every finder: whoever ends the run wants none of them to go on. */
export function endAll(): void {
  for (const pid of running) process.kill(-pid, 'SIGKILL')
}

/** Runs a command in the folder and ends it, and what it started, after `timeMs`. */
function run(folder: string, args: readonly string[], timeMs: number): Promise<Ran> {
  return new Promise((resolve) => {
    const env = { ...process.env, REGROW_SEED: '1' }
    const child = spawn(process.execPath, args, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    const pid = child.pid as number
    running.add(pid)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        output += text
      })
    const late = setTimeout(() => process.kill(-pid, 'SIGKILL'), timeMs)
    child.on('exit', () => running.delete(pid))
    child.on('close', (code) => {
      clearTimeout(late)
      resolve({ output, code })
    })
  })
}

export async function find(folder: string, finder: Finder, patience: Patience): Promise<Found> {
  return finder.by === 'sim' ? inHistories(folder, patience) : inTests(folder, finder.file, patience)
}

async function inHistories(folder: string, { seeds, timeMs }: Patience): Promise<Found> {
  const flags = ['--seeds', String(seeds), '--processes', '1', '--until-violation']
  const { output, code } = await run(folder, ['--import', 'jiti/register', 'test/sim/main.ts', ...flags], timeMs)
  const violation = /^seed (\d+): (.*)$/m.exec(output)
  const number = violation ? Number(violation[1]) : seeds
  // Seeds begin with 1, and one process plays them one after the other.
  if (violation) return { found: true, how: (violation[2] as string).slice(0, 110), seeds: number }
  if (code === 0) return { found: false, how: `not seen in ${seeds} histories`, seeds }
  const last = output.trim().split('\n').slice(-1)[0] ?? ''
  return { found: false, how: `the simulator broke or took too long: ${last.slice(0, 160)}`, seeds: null }
}

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

async function inTests(folder: string, file: string, { timeMs }: Patience): Promise<Found> {
  const report = join(folder, 'found.json')
  const { output, code } = await run(
    folder,
    ['node_modules/vitest/vitest.mjs', 'run', file, '--bail=1', '--reporter=json', `--outputFile=${report}`],
    timeMs,
  )
  if (code === 0) return { found: false, how: `${file} passes`, seeds: null }
  const failed = failedTests(report)
  // A file that does not even load, or a server that did not start, has found nothing.
  if (failed.length === 0)
    return { found: false, how: `${file} broke or took too long: ${output.trim().slice(-160)}`, seeds: null }
  const sequence = /failed at sequence (\d+)/.exec(output)?.[1]
  return { found: true, how: `${sequence ? `sequence ${sequence}: ` : ''}${failed[0]?.slice(0, 100)}`, seeds: null }
}

function failedTests(report: string): string[] {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
    return testResults.flatMap(({ assertionResults }) =>
      assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
    )
  } catch {
    return []
  }
}
