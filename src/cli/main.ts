#!/usr/bin/env node
// The command `regrow`: arguments in, an exit code out. 0: fine; 1: it failed; 2: the command line is
// wrong; 3: a worker wants to be started anew; 130: a signal ended it before it was done.
import { surroundings } from './config.ts'
import { run } from './run.ts'

// `regrow status | head` closes the pipe early; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const code = await run(process.argv.slice(2), surroundings())
// What an app module keeps open (timers, pools of its own) must not keep a finished command alive.
process.stdout.write('', () => process.exit(code))
