// A small process next to the one that started servers. Its stdin is a pipe that only the starter holds: when the
// starter ends in whatever way (exit, throw, signal, kill -9), the pipe closes, and this process ends what is still listed.
// One line per message, as JSON: ["add" | "drop", "server" | "folder" | "container", id, signal?]
//
// Plain JavaScript, not TypeScript: every process that starts a server spawns one, so it has to start in milliseconds
// without a loader, and it must work when the checkout (with node_modules) goes away under it.

import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const listed = { server: new Map(), folder: new Map(), container: new Map() }

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const [verb, kind, id, signal] = JSON.parse(line)
  if (verb === 'add') listed[kind].set(id, signal)
  else listed[kind].delete(id)
})
lines.on('close', endAll)
process.stdin.on('error', () => lines.close())

async function endAll() {
  await Promise.all([...listed.server].map(([pid, signal]) => end(pid, signal)))
  for (const name of listed.container.keys())
    spawnSync('docker', ['rm', '--force', '--volumes', name], { stdio: 'ignore' })
  for (const folder of listed.folder.keys())
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

/** First the server's own stop signal: a Postgres that gets SIGKILL leaves its children and its shared memory behind. */
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
