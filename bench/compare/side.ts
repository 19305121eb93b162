// Runs one measure of one side in a process of its own, under the Node that both sides share.
import { spawn } from 'node:child_process'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Figures, Places, Task } from './task.ts'

/** The programs that measure; those of peers live where their packages are. */
const programs = {
  regrow: '../sides/regrow.ts',
  limits: '../sides/limits.ts',
  bullmq: '../peers/bullmq.mjs',
  'pg-boss': '../peers/pgboss.mjs',
  'graphile-worker': '../peers/graphile.mjs',
}

export type Side = keyof typeof programs

/** The side of a peer as rows name it: "bullmq, gathered" is another way of bullmq. */
export const sideOf = (peer: string) => peer.split(',')[0] as Side

/** Longer than the slowest measure on a slow machine. */
const patienceMs = 240_000

/**
 * Answers the figures, or rejects with what the process wrote to stderr. `here` is the checkout's `bench/compare/` whose program
 * runs; defaults to this one.
 */
export function measure<Answer = Figures>(
  node: string,
  side: Side,
  task: Task & Places,
  here: URL = new URL('.', import.meta.url),
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [fileURLToPath(new URL(programs[side], here)), JSON.stringify(task)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // As it runs at work: elsewhere a worker begins with a sweep of each job, beside what is measured.
      env: { ...process.env, NODE_ENV: 'production', NODE_NO_WARNINGS: '1' },
    })
    const late = setTimeout(() => child.kill('SIGKILL'), patienceMs)
    const said = { out: '', err: '' }
    child.stdout.on('data', (chunk) => (said.out += chunk))
    child.stderr.on('data', (chunk) => (said.err += chunk))
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(late)
      if (code === 0) return resolve(JSON.parse(said.out.trim().split('\n').at(-1) ?? ''))
      reject(new Error(`${side} ${JSON.stringify(task)} ended with ${signal ?? code}\n${said.err.trim()}`))
    })
  })
}

/** Waits until the machine has little else to do, or until `mostMs` have passed; answers the share of it that is busy. */
export async function quiet(mostMs: number): Promise<number> {
  const until = performance.now() + mostMs
  for (;;) {
    const before = busyTime()
    await new Promise((resolve) => setTimeout(resolve, 300))
    const after = busyTime()
    const busy = (after.busy - before.busy) / Math.max(1, after.all - before.all)
    if (busy < 0.15 || performance.now() >= until) return busy
  }
}

function busyTime(): { busy: number; all: number } {
  const times = cpus().map((cpu) => cpu.times)
  const all = times.reduce((sum, each) => sum + each.user + each.nice + each.sys + each.idle + each.irq, 0)
  return { busy: all - times.reduce((sum, { idle }) => sum + idle, 0), all }
}
