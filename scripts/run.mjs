// Runs a command to its end with our own terminal. When this process is told to end, the command is told too:
// nothing keeps running behind a shell that has its prompt back.

import { spawn } from 'node:child_process'
import { whenOrphaned } from './orphan.mjs'

let current

process.on('SIGINT', () => end('SIGINT', 130))
process.on('SIGTERM', () => end('SIGTERM', 143))
whenOrphaned(() => end('SIGTERM', 143))

function end(signal, code) {
  if (current === undefined) process.exit(code)
  current.once('close', () => process.exit(code))
  current.kill(signal)
}

/** @returns {Promise<{ ok: boolean, how: string }>} how it ended, in words */
export function run(command, args, options) {
  return new Promise((resolve, reject) => {
    current = spawn(command, args, { stdio: 'inherit', ...options })
    current.once('error', reject)
    current.once('close', (code, signal) => {
      current = undefined
      resolve({ ok: code === 0, how: `ended with ${signal ?? code}` })
    })
  })
}
