// The same shape as program.mjs for a server in a Docker container: start, signal, wait for the end, remove.

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { forget, watchOver } from './guard.mjs'

const run = promisify(execFile)

/** Whether a Docker daemon answers: the client alone is no use. */
export async function dockerAnswers() {
  try {
    await run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: 5_000 })
    return true
  } catch {
    return false
  }
}

/**
 * @param {{ image: string, options?: string[], args?: string[], endSignal: NodeJS.Signals }} options
 */
export function container({ image, options = [], args = [], endSignal }) {
  const name = `regrow-test-${randomUUID()}`
  let made = false
  let pid
  const inspect = async (field) =>
    (
      await run('docker', ['inspect', '--format', `{{.State.${field}}}`, name]).catch(() => ({ stdout: '' }))
    ).stdout.trim()

  return {
    get pid() {
      return pid
    },
    isRunning: async () => (await inspect('Running')) === 'true',
    async logTail() {
      const { stdout, stderr } = await run('docker', ['logs', '--tail', '15', name]).catch((error) => error)
      return `${stdout}${stderr}`.trim()
    },

    async start() {
      watchOver('container', name)
      if (made) await run('docker', ['start', name])
      else await run('docker', ['run', '--detach', '--name', name, ...options, image, ...args], { timeout: 180_000 })
      made = true
      pid = Number(await inspect('Pid'))
    },

    async end(signal = endSignal) {
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
      forget('container', name)
    },
  }
}
