// A server that runs as a process of this machine. Its output goes to a file, whose tail is part of every error about it.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import type { ServerProcess } from './server-process.ts'
import { release, supervise } from './supervisor.ts'
import { unprivilegedUser } from './unprivileged-user.ts'

export interface LocalProcessOptions {
  command: string
  args: string[]
  logFile: string
  stopSignal: NodeJS.Signals
}

export function localProcess({ command, args, logFile, stopSignal }: LocalProcessOptions): ServerProcess {
  let child: ChildProcess | undefined
  let ended: Promise<void> = Promise.resolve()
  const runningChild = () => (child && child.exitCode === null && child.signalCode === null ? child : undefined)
  const stop = async (signal = stopSignal) => {
    const running = runningChild()
    if (!running) return
    running.ref()
    running.kill(signal)
    await ended
  }

  return {
    get pid() {
      return child?.pid
    },
    isRunning: async () => runningChild() !== undefined,
    logTail: async () => tail(logFile),

    async start() {
      const output = openSync(logFile, 'a')
      // Detached, so that a Ctrl-C reaches the test run and not the server under it.
      const started = spawn(command, args, {
        cwd: '/',
        detached: true,
        stdio: ['ignore', output, output],
        ...unprivilegedUser(),
      })
      closeSync(output)
      child = started
      const { pid } = started
      if (pid !== undefined) supervise('server', pid, stopSignal)
      ended = new Promise((resolve) => {
        started.once('error', () => resolve())
        started.once('exit', () => {
          if (pid !== undefined) release('server', pid)
          resolve()
        })
      })
      started.unref()
    },

    stop,
    async signal(signal) {
      child?.kill(signal)
    },
    remove: () => stop(),
  }
}

function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-15).join('\n')
  } catch {
    return '(no output)'
  }
}
