// The demo: a small control plane at work, whose queue is wiped and whose workers are killed while it runs.
// In: --seconds, --postgres, --help, and the keys w, k, q. Out: what happened, and at the end what was lost: nothing.
import { parseArgs } from 'node:util'

const help = `regrow demo: lose the queue, it grows back

  npm start -- [--seconds 30] [--postgres URL]

  --seconds N      how long the customers and the damage go on, 3 to 3600 (default 30)
  --postgres URL   on this Postgres instead of one inside the process; workers are
                   processes then, and a killed one is killed with kill -9. It works in
                   the schemas regrow_demo and regrow, and removes what it made.
  --help           this text

  On a terminal: w wipes the queue, k kills a worker, q ends.
  Without a key it does both itself, half-way.
  Exit code: 0 when nothing was lost, 1 when something was, 2 for a wrong call.
`

function flags() {
  try {
    const { values } = parseArgs({
      options: { seconds: { type: 'string' }, postgres: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    })
    const seconds = Number(values.seconds ?? 30)
    if (!(seconds >= 3 && seconds <= 3_600)) throw new Error(`--seconds is ${values.seconds}; expected 3 to 3600`)
    return { seconds, postgres: values.postgres, help: values.help === true }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    process.exit(2)
  }
}

const { seconds, postgres, help: asked } = flags()
if (asked) {
  process.stdout.write(help)
  process.exit(0)
}
console.log(`regrow demo: ${postgres ? 'on your Postgres' : 'starting Postgres inside this process, a few seconds'}`)
// After the first line: what follows takes a while to load.
const { demo } = await import('./demo.ts')
const code = await demo({ seconds, postgresUrl: postgres }).catch((error: Error & { code?: string }) => {
  console.error(`The demo could not go on: ${error.message || error.code}`)
  return 1
})
// Abandoned workers would keep the process alive.
process.exit(code)
