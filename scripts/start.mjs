// `npm start`: makes the checkout ready and runs the demo. Arguments are passed on: npm start -- --seconds 3
// Plain JavaScript: it runs before any package is installed.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const DEMO = 'examples/control-plane/main.ts'

console.log('regrow: starting the demo (Ctrl-C ends it)')
const { setup } = await import('./setup.mjs')
const { onParentExit } = await import('./on-parent-exit.mjs')
await setup().catch(giveUp)

const root = fileURLToPath(new URL('..', import.meta.url))
const demo = spawn(process.execPath, ['--import', 'jiti/register', join(root, DEMO), ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
})

// A Ctrl-C in a terminal reaches the demo by itself; a kill of this process does not. Either way the demo ends in its
// own time and this process waits for it.
process.on('SIGINT', () => process.stdin.isTTY || demo.kill('SIGINT'))
process.on('SIGTERM', () => demo.kill('SIGTERM'))
onParentExit(() => demo.kill('SIGTERM'))

demo.once('error', giveUp)
demo.once('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})

function giveUp(error) {
  console.error(error.message)
  process.exit(1)
}
