// What people do with schedules in a history, and the schedule that is made at run time; each until it is done.
import { operate } from '../../src/operate/index.ts'
import { handed, type RecurringAct, report } from './recurring.ts'
import type { SimWorld } from './world.ts'

/** Plays what the plan has of it. */
export function playRecurring(world: SimWorld): void {
  const { plan, kernel, user } = world
  if (!plan.recurring) return
  const { handed: made, acts } = plan.recurring
  if (made)
    kernel.after(made.atMs, () => {
      user.busy++
      void add(world, made.options).finally(() => user.busy--)
    })
  for (const act of acts)
    kernel.after(act.atMs, () => {
      user.busy++
      void play(world, act).finally(() => user.busy--)
    })
}

const add = ({ user }: SimWorld, options: RecurringAct['options']) =>
  user.operate((app) => operate(app).schedules.add(handed, { ...options, job: report.name, input: { deed: 'ok' } }))

async function play(world: SimWorld, { kind, name, ms, options }: RecurringAct): Promise<void> {
  const { user, kernel, tally, db, trace } = world
  const stands = () => db.schedules.get(name)?.endedAt === null
  if (!stands()) return
  trace.tell('person', kind, () => name)
  if (kind === 'change') return add(world, options)
  if (kind === 'run') {
    tally.fault('schedule run by hand')
    // Paused or ended by somebody else meanwhile: then it is not run.
    return user.operate((app) => operate(app).schedules.run(name).catch(ignoreStopped))
  }
  tally.fault(kind === 'pause' ? 'schedule paused' : 'schedule ended and resumed')
  if (kind === 'pause')
    await user.operate((app) => operate(app).schedules.pause(name, { reason: 'a storm' }).catch(ignoreStopped))
  else await user.operate((app) => operate(app).schedules.end(name).catch(ignoreStopped))
  await kernel.passed(ms)
  await user.operate((app) => operate(app).schedules.resume(name))
}

function ignoreStopped(error: unknown): void {
  if ((error as { code?: unknown }).code !== 'schedule_stopped') throw error
}
