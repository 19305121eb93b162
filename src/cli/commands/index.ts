// The commands of `regrow`.
import type { Group } from '../command.ts'
import { doctor } from './doctor.ts'
import { drain } from './drain.ts'
import { enqueue } from './enqueue.ts'
import { forget } from './forget.ts'
import { init } from './init.ts'
import { migrate } from './migrate.ts'
import { pause, resume } from './pause.ts'
import { quarantine } from './quarantine.ts'
import { schedules } from './schedules.ts'
import { status } from './status.ts'
import { sweep } from './sweep.ts'
import { why } from './why.ts'
import { work } from './work.ts'

export const commands: Group = {
  kind: 'group',
  name: '',
  summary: 'Background jobs that re-derive the queue from your database',
  about: undefined,
  examples: [
    ['regrow init', 'write a working app module'],
    ['regrow migrate --store $DATABASE_URL', "bring regrow's tables up to date"],
    ['regrow work --app jobs.ts', 'run jobs until Ctrl-C'],
    ['regrow status', 'how every job and worker stands'],
    ['regrow why database.create 42', 'why a key does not run'],
    ['regrow doctor --app jobs.ts', 'what is wrong, or will be'],
    ['regrow quarantine list', 'what failed for good'],
  ],
  commands: {
    init,
    migrate,
    work,
    drain,
    enqueue,
    status,
    sweep,
    doctor,
    why,
    pause,
    resume,
    forget,
    quarantine,
    schedules,
  },
}
