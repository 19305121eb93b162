// This process's end of the pipe to supervisor-process.mjs, which ends servers and removes folders and containers when
// this process has ended, in whatever way. One supervisor per process, started with the first thing to supervise.

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./supervisor-process.mjs', import.meta.url))
let supervisor: ChildProcess | undefined

/** The process gets `signal` when this process has ended. */
export function supervise(kind: 'server', pid: number, signal: NodeJS.Signals): void
/** The folder or container is removed when this process has ended. */
export function supervise(kind: 'folder' | 'container', id: string): void
export function supervise(kind: string, id: number | string, signal?: NodeJS.Signals): void {
  send(['add', kind, id, signal])
}

/** It is gone already: nothing has to be done for it when this process ends. */
export function release(kind: 'server', pid: number): void
export function release(kind: 'folder' | 'container', id: string): void
export function release(kind: string, id: number | string): void {
  send(['drop', kind, id])
}

function send(message: unknown[]): void {
  supervisor ??= start()
  supervisor.stdin?.write(`${JSON.stringify(message)}\n`)
}

function start(): ChildProcess {
  // Detached: a Ctrl-C in the terminal goes to the whole process group, and the supervisor has to outlive it.
  const child = spawn(process.execPath, [script], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  child.on('exit', () => {
    supervisor = undefined
  })
  child.stdin.on('error', () => {})
  // The pipe must not keep this process alive. Its type does not say that it is a socket.
  ;(child.stdin as unknown as { unref(): void }).unref()
  child.unref()
  return child
}
