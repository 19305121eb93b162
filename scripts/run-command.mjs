// Runs a command to its end in this terminal. A signal to this process is passed on to the command: nothing keeps
// running behind a shell that has its prompt back.

import { spawn } from 'node:child_process'
import { onParentExit } from './on-parent-exit.mjs'

let current

process.on('SIGINT', () => end('SIGINT', 130))
process.on('SIGTERM', () => end('SIGTERM', 143))
onParentExit(() => end('SIGTERM', 143))

function end(signal, code) {
  if (current === undefined) process.exit(code)
  current.once('close', () => process.exit(code))
  current.kill(signal)
}

/** @returns {Promise<{ ok: boolean, how: string }>} how it ended, in words */
export function runCommand(command, args, options) {
  return new Promise((resolve, reject) => {
    current = spawn(command, args, { stdio: 'inherit', ...options })
    current.once('error', reject)
    current.once('close', (code, signal) => {
      current = undefined
      resolve({ ok: code === 0, how: `ended with ${signal ?? code}` })
    })
  })
}
