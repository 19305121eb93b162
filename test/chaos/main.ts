// npm run chaos -- <name>: runs one of the long tests against real processes and servers. Without a name it lists them.
import { nearest } from '../../src/base/suggest.ts'

interface LongRun {
  /** With the default flags. */
  readonly takes: string
  readonly about: string
  /** Reads its flags from the arguments after its name, and sets the exit code. */
  readonly start: () => Promise<unknown>
}

const runs: Record<string, LongRun> = {
  kill: {
    takes: '3 to 6 minutes',
    about: 'kill -9, SIGSTOP and SIGTERM on four workers, late commits, poison rows',
    start: () => import('./kill/main.ts'),
  },
  deploy: {
    takes: '3 minutes',
    about: 'two versions of an app side by side, with restarts and kills in the middle',
    start: () => import('./deploy/main.ts'),
  },
  wipe: {
    takes: '5 to 20 minutes',
    about: 'the queue wiped every 5 s and a worker killed -9 every 3 s, on Postgres and on PGlite',
    start: () => import('./wipe/main.ts'),
  },
  schedules: {
    takes: '7 minutes',
    about: 'schedules of every second under kills and wipes, on Redis and on Postgres',
    start: () => import('./schedules/main.ts'),
  },
  backlog: {
    takes: '10 to 30 minutes',
    about: '5 million pending rows through a queue of 50,000 hints',
    start: () => import('./backlog/main.ts'),
  },
  hostile: {
    takes: '3 minutes',
    about: 'bad rows, values, answers and events of every kind beside 10,000 good rows',
    start: () => import('./hostile/main.ts'),
  },
}

const [, , name] = process.argv
const run = name === undefined ? undefined : runs[name]
if (run) {
  process.argv.splice(2, 1)
  await run.start()
} else {
  const guess = name === undefined ? undefined : nearest(name, Object.keys(runs))
  if (name !== undefined) console.error(`There is no run "${name}"${guess ? `; did you mean "${guess}"?` : ''}\n`)
  console.error('npm run chaos -- <name> [flags]\n')
  for (const [each, { takes, about }] of Object.entries(runs))
    console.error(`  ${each.padEnd(11)}${takes.padEnd(18)}${about}`)
  console.error('\nEach ends by itself and exits with 0 when everything held. The flags are in CONTRIBUTING.md.')
  process.exitCode = 1
}
