// Runs npm: the one that runs us where there is one, else the one on PATH.

import { spawn } from 'node:child_process'

/**
 * @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, show?: boolean, onSpawn?: (pid: number) => void }} options
 *   `show` prints npm's output as it comes
 * @returns {Promise<string>} npm's stdout
 */
export function npm(args, { cwd, env = process.env, show = false, onSpawn }) {
  const self = process.env.npm_execpath
  // Under pnpm or yarn this variable names them instead.
  const [command, first] = self?.endsWith('npm-cli.js') ? [process.execPath, [self]] : ['npm', []]
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], {
      cwd,
      env,
      stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
      shell: process.platform === 'win32' && command === 'npm',
    })
    if (child.pid !== undefined) onSpawn?.(child.pid)
    let stdout = ''
    let stderr = ''
    child.stdout?.on('data', (chunk) => (stdout += chunk))
    child.stderr?.on('data', (chunk) => (stderr += chunk))
    child.once('error', (error) => reject(new Error(`npm could not be started: ${error.message}`)))
    child.once('close', (code) => {
      if (code === 0) resolve(stdout)
      else reject(new Error(`npm ${args[0]} ended with ${code}\n${stderr.trim()}`))
    })
  })
}
