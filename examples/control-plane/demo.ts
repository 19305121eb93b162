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
const signUps = { perTick: 6, waitingMax: 100 }
/** Parts of the time after which the demo wipes and kills, if the reader has not, and customers stop coming. */
const plan = { wipe: 0.5, kill: 0.6, lastSignUp: 0.7 }
/** When nothing has finished for so long, what is still waiting counts as lost. */
const patienceMs = 15_000

/** Runs the demo; returns the exit code. */
export async function demo(options: {
  seconds: number
  postgresUrl: string | undefined
  redisUrl: string | undefined
}): Promise<number> {
  const place = await open(options)
  const terminal = process.stdout.isTTY && process.env.TERM !== 'dumb'
  const hasKeys = terminal && process.stdin.isTTY
  for (const remark of place.remarks) console.log(`  ${remark}`)
  if (!hasKeys) console.log('  No terminal to press keys on: half-way it wipes the queue and kills a worker itself.')
  const screen = terminal
    ? liveTable(process.stdout, hasKeys ? 'w wipes the queue   k kills a worker   q ends' : '')
    : plainLines(process.stdout)
  let closing: Promise<void> | undefined
  const close = () => {
    screen.close()
    closing ??= place.close()
    return closing
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void close().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143)))
  try {
    const { code, lines } = await run(place, screen, options.seconds * 1_000, hasKeys)
    screen.close()
    for (const line of lines) console.log(line)
    return code
  } finally {
    await close()
  }
}

async function open({ postgresUrl, redisUrl: url }: Parameters<typeof demo>[0]): Promise<Place> {
  const onRedis = url === undefined ? undefined : { url, ...(await (await import('./on-redis.ts')).redisQueue(url)) }
  if (postgresUrl === undefined) return (await import('./on-pglite.ts')).onPglite(onRedis)
  return (await import('./on-postgres.ts')).onPostgres(postgresUrl, onRedis)
}

async function run(place: Place, screen: Screen, timeMs: number, hasKeys: boolean) {
  for (const statement of tables) await place.query(statement)
  const retried = new Map<string, number>()
  const fleet = new Fleet(
    place,
    (news) => {
      if (news.kind === 'started') damage.started(identity(news))
      else if (news.state === 'retrying') retried.set(news.job, (retried.get(news.job) ?? 0) + 1)
    },
    (member) => damage.died(member),
  )
  const customers = new Customers(place.app, controlPlane(place.app))
  let begun = performance.now()
  const elapsed = () => performance.now() - begun
  const damage = new Damage(place, (line) => screen.say(`${seconds(elapsed()).padStart(7)}  ${line}`))
  await fleet.start(workers)

  let quit = false
  if (hasKeys)
    listenToKeys({
      w: () => void damage.wipe(),
      k: () => void fleet.kill(),
      q: () => {
        quit = true
      },
    })
  begun = performance.now()
  let progress = { done: 0, atMs: 0 }
  for (;;) {
    const tally = await readTally(place.query)
    const hints = await place.hints()
    const elapsedMs = elapsed()
    const open = !quit && elapsedMs < timeMs * plan.lastSignUp
    const phase = open ? 'customers sign up' : 'no more customers, the work drains'
    screen.show({ elapsedMs, timeMs, phase, tally, retried, hints, members: fleet.members })

    if (!quit && elapsedMs >= timeMs * plan.wipe && damage.count('wipe') === 0 && hints > 0) await damage.wipe()
    if (!quit && elapsedMs >= timeMs * plan.kill && fleet.deaths === 0) fleet.kill()
    if (open && total(tally, 'waiting') < signUps.waitingMax) await customers.signUp(signUps.perTick)
    if (!open && total(tally, 'waiting') + total(tally, 'running') === 0) break

    const done = total(tally, 'done') + total(tally, 'quarantined')
    if (done > progress.done) progress = { done, atMs: elapsedMs }
    if (elapsedMs - progress.atMs > patienceMs) break
    await wait(tickMs)
  }
  await fleet.stop()
  return verdict({ place, customers, damage, retried, quit })
}
