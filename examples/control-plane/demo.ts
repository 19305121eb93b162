// The order of the show: open, let customers sign up, do the damage, let the work finish, count.
import { setTimeout as wait } from 'node:timers/promises'
import { controlPlane, tables } from './control-plane.ts'
import { Customers } from './customers.ts'
import { Damage, seconds } from './damage.ts'
import { Fleet } from './fleet.ts'
import { listenToKeys } from './keys.ts'
import { identity, type Place } from './place.ts'
import { liveTable, plainLines, type Screen } from './screen.ts'
import { readTally, total } from './tally.ts'
import { verdict } from './verdict.ts'

const workers = 3
const tickMs = 250
/** Customers per tick, as long as less than this is waiting: the demo adapts to a slow machine. */
const signUps = { perTick: 6, waitingMax: 150 }
/** Parts of the time after which the demo wipes and kills, if the reader has not, and customers stop coming. */
const plan = { wipe: 0.5, kill: 0.6, lastSignUp: 0.7 }
/** When nothing has finished for so long, what is still waiting counts as lost. */
const patienceMs = 20_000

/** Runs the demo; returns the exit code. */
export async function demo(options: { seconds: number; postgresUrl: string | undefined }): Promise<number> {
  const place = await open(options.postgresUrl)
  for (const statement of tables) await place.query(statement)
  const keys = process.stdin.isTTY && process.stdout.isTTY ? 'w wipes the queue   k kills a worker   q ends' : ''
  for (const remark of place.remarks) console.log(`  ${remark}`)
  if (keys === '')
    console.log('  No terminal to press keys on: it will wipe the queue and kill a worker itself, half-way.')
  const screen = process.stdout.isTTY
    ? liveTable(process.stdout, keys)
    : plainLines((text) => process.stdout.write(text))
  const close = async () => {
    screen.close()
    await place.close()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void close().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143)))
  const outcome = await run(place, screen, options.seconds * 1_000, keys !== '')
  await close()
  for (const line of outcome.lines) console.log(line)
  return outcome.code
}

async function open(postgresUrl: string | undefined): Promise<Place> {
  if (postgresUrl === undefined) return (await import('./on-pglite.ts')).onPglite()
  return (await import('./on-postgres.ts')).onPostgres(postgresUrl)
}

async function run(place: Place, screen: Screen, timeMs: number, hasKeys: boolean) {
  const retried = new Map<string, number>()
  const fleet = new Fleet(place, (news) => {
    if (news.kind === 'started') damage.started(identity(news))
    else if (news.state === 'retrying') retried.set(news.job, (retried.get(news.job) ?? 0) + 1)
  })
  const customers = new Customers(place.app, controlPlane(place.app))
  await fleet.start(workers)

  const begun = performance.now()
  const damage = new Damage(place, fleet, (line) =>
    screen.say(`${seconds(performance.now() - begun).padStart(7)}  ${line}`),
  )
  let quit = false
  const release = hasKeys
    ? listenToKeys({ w: () => void damage.wipe(), k: () => damage.kill(), q: () => (quit = true) })
    : () => {}

  let progress = { done: 0, at: begun }
  for (;;) {
    const tally = await readTally(place.query)
    const elapsedMs = performance.now() - begun
    const open = !quit && elapsedMs < timeMs * plan.lastSignUp
    const phase = open ? 'working' : 'draining'
    screen.show({ elapsedMs, phase, tally, retried, hints: await place.hints(), members: fleet.members })

    if (!quit && elapsedMs >= timeMs * plan.wipe && damage.count('wipe') === 0) await damage.wipe()
    if (!quit && elapsedMs >= timeMs * plan.kill && damage.count('kill') === 0) damage.kill()
    if (open && total(tally, 'waiting') < signUps.waitingMax) await customers.signUp(signUps.perTick)
    if (!open && total(tally, 'waiting') + total(tally, 'running') === 0) break

    const done = total(tally, 'done') + total(tally, 'quarantined')
    if (done > progress.done || open) progress = { done, at: performance.now() }
    if (performance.now() - progress.at > patienceMs) break
    await wait(tickMs)
  }
  release()
  await fleet.stop()
  return verdict({ place, customers, damage, retried, quit })
}
