// A small process beside the one that started servers. Its stdin is a pipe that only the starter holds: when the
// starter ends in whatever way (exit, throw, signal, kill -9), the pipe closes, and what is still noted here is ended.
// One line per message, as JSON: ["add" | "drop", "server" | "folder" | "container", id, signal?]

import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const noted = { server: new Map(), folder: new Map(), container: new Map() }

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const [verb, kind, id, signal] = JSON.parse(line)
  if (verb === 'add') noted[kind].set(id, signal)
  else noted[kind].delete(id)
})
lines.on('close', endAll)
process.stdin.on('error', () => lines.close())

async function endAll() {
  await Promise.all([...noted.server].map(([pid, signal]) => end(pid, signal)))
  for (const name of noted.container.keys())
    spawnSync('docker', ['rm', '--force', '--volumes', name], { stdio: 'ignore' })
  for (const folder of noted.folder.keys())
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

/** Politely first: a Postgres that gets SIGKILL leaves its children and its shared memory behind. */
async function end(pid, signal) {
  if (!send(pid, signal)) return
  for (let waited = 0; waited < 5_000; waited += 50) {
    await sleep(50)
    if (!send(pid, 0) || isZombie(pid)) return
  }
  send(pid, 'SIGKILL')
}

function send(pid, signal) {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** In a container whose first process reaps slowly, an ended server keeps its pid for a while. */
function isZombie(pid) {
  try {
    return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
