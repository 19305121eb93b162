// A server program on this machine, as the guardian sees it: start, signal, wait for the end. Its output goes to a
// file, whose tail is part of every error about it.

import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { serverAccount } from './account.mjs'
import { forget, watchOver } from './guard.mjs'

/**
 * @param {{ command: string, args: string[], logFile: string, endSignal: NodeJS.Signals }} options
 */
export function program({ command, args, logFile, endSignal }) {
  let child
  let ended = Promise.resolve()
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null

  return {
    get pid() {
      return child?.pid
    },
    isRunning: async () => isRunning(),
    logTail: async () => tail(logFile),

    async start() {
      const log = openSync(logFile, 'a')
      // Detached, so that a Ctrl-C reaches the test run and not the server under it.
      child = spawn(command, args, { cwd: '/', detached: true, stdio: ['ignore', log, log], ...serverAccount() })
      closeSync(log)
      const { pid } = child
      if (pid !== undefined) watchOver('server', pid, endSignal)
      ended = new Promise((resolve) => {
        child.once('error', resolve)
        child.once('exit', () => {
          if (pid !== undefined) forget('server', pid)
          resolve()
        })
      })
      child.unref()
    },

    /** Sends a signal and waits until the process is gone. */
    async end(signal = endSignal) {
      if (!isRunning()) return
      child.ref()
      child.kill(signal)
      await ended
    },

    /** Sends a signal that ends nothing. */
    async signal(signal) {
      child?.kill(signal)
    },

    async remove() {
      await this.end()
    },
  }
}

function tail(file) {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-15).join('\n')
  } catch {
    return '(no output)'
  }
}
