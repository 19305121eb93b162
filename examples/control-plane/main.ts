// The demo: a small control plane at work, whose queue is wiped and whose workers are killed while it runs.
// In: --seconds, --postgres, --redis, --help, and the keys w, k, q. Out: what happened, and at the end what was lost: nothing.
import { parseArgs } from 'node:util'

const help = `regrow demo: lose the queue, it grows back

  npm start -- [--seconds 30] [--postgres URL] [--redis URL]

  --seconds N      how long the customers and the damage go on, 3 to 3600 (default 30)
  --postgres URL   on this Postgres instead of one inside the process; workers are
                   processes then, and a killed one is killed with kill -9. It works in
                   the schemas regrow_demo and regrow, and removes what it made.
  --redis URL      the queue in this Redis, in a namespace of its own; nothing else on that
                   server is touched, and the namespace is removed at the end
  --help           this text

  On a terminal: w wipes the queue, k kills a worker, q ends.
  Without a key it does both itself, half-way.
  Exit code: 0 when nothing was lost, 1 when something was, 2 for a wrong call.
`

function flags() {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: 'string' },
        postgres: { type: 'string' },
        redis: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    const seconds = Number(values.seconds ?? 30)
    if (!(seconds >= 3 && seconds <= 3_600)) throw new Error(`--seconds is ${values.seconds}; expected 3 to 3600`)
    const { postgres, redis } = values
    checkAddress('--postgres', postgres, /^postgres(ql)?:$/, 'postgres://user:password@host:port/database')
    checkAddress('--redis', redis, /^rediss?:$/, 'redis://user:password@host:port')
    return { seconds, postgres, redis, help: values.help === true }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    process.exit(2)
  }
}

/** Not the address itself is told: it may hold a password. */
function checkAddress(flag: string, given: string | undefined, protocol: RegExp, expected: string): void {
  if (given === undefined || (URL.canParse(given) && protocol.test(new URL(given).protocol))) return
  throw new Error(`${flag} is no address of that kind; expected ${expected}`)
}

const { seconds, postgres, redis, help: asked } = flags()
if (asked) {
  process.stdout.write(help)
  process.exit(0)
}
const store = postgres ? 'on your Postgres' : 'starting Postgres inside this process, a few seconds'
console.log(`regrow demo: ${store}${redis ? '; the queue in your Redis' : ''}`)
// After the first line: what follows takes a while to load.
const { demo } = await import('./demo.ts')
const code = await demo({ seconds, postgresUrl: postgres, redisUrl: redis }).catch(
  (error: Error & { code?: string }) => {
    console.error(`The demo could not go on: ${error.message || error.code}`)
    return 1
  },
)
// Abandoned workers would keep the process alive.
process.exit(code)
