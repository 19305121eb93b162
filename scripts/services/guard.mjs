// The starter's end of the pipe to guardian.mjs. One guardian per process, started with the first thing to guard.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const guardianFile = fileURLToPath(new URL('./guardian.mjs', import.meta.url))
let guardian

/** @param {'server' | 'folder' | 'container'} kind @param {number | string} id @param {NodeJS.Signals} [signal] how a server is asked to end */
export function watchOver(kind, id, signal) {
  tell(['add', kind, id, signal])
}

/** @param {'server' | 'folder' | 'container'} kind @param {number | string} id */
export function forget(kind, id) {
  tell(['drop', kind, id])
}

function tell(message) {
  guardian ??= start()
  guardian.stdin.write(`${JSON.stringify(message)}\n`)
}

function start() {
  // Detached: a Ctrl-C in the terminal goes to the whole process group, and the guardian has to outlive it.
  const child = spawn(process.execPath, [guardianFile], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.on('exit', () => {
    guardian = undefined
  })
  child.stdin.on('error', () => {})
  child.stdin.unref()
  child.unref()
  return child
}
