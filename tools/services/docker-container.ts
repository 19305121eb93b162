// A server in a Docker container.

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import type { ServerProcess } from './server-process.ts'
import { release, supervise } from './supervisor.ts'

const run = promisify(execFile)

export interface DockerContainerOptions {
  image: string
  /** Of `docker run`. */
  options: string[]
  /** The command inside the container. */
  args: string[]
  stopSignal: NodeJS.Signals
}

/** Whether a Docker daemon answers: the client alone cannot run anything. */
export async function dockerAnswers(): Promise<boolean> {
  try {
    await run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: 5_000 })
    return true
  } catch {
    return false
  }
}

export function dockerContainer({ image, options, args, stopSignal }: DockerContainerOptions): ServerProcess {
  const name = `regrow-test-${randomUUID()}`
  let created = false
  let pid: number | undefined
  const inspect = async (field: string) => {
    const inspected = run('docker', ['inspect', '--format', `{{.State.${field}}}`, name])
    return (await inspected.catch(() => ({ stdout: '' }))).stdout.trim()
  }

  return {
    get pid() {
      return pid
    },
    isRunning: async () => (await inspect('Running')) === 'true',
    async logTail() {
      const logs = run('docker', ['logs', '--tail', '15', name])
      const { stdout, stderr } = await logs.catch((error: { stdout: string; stderr: string }) => error)
      return `${stdout}${stderr}`.trim()
    },

    async start() {
      supervise('container', name)
      if (created) await run('docker', ['start', name])
      else await run('docker', ['run', '--detach', '--name', name, ...options, image, ...args], { timeout: 180_000 })
      created = true
      pid = Number(await inspect('Pid'))
    },

    async stop(signal = stopSignal) {
      if (pid === undefined) return
      await run('docker', ['kill', '--signal', signal, name]).catch(() => {})
      await run('docker', ['wait', name])
      pid = undefined
    },

    async signal(signal) {
      await run('docker', ['kill', '--signal', signal, name])
    },

    async remove() {
      await run('docker', ['rm', '--force', '--volumes', name]).catch(() => {})
      pid = undefined
      release('container', name)
    },
  }
}
