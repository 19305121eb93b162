// regrow schedules: what recurs, how it stands and when it fires; pause, resume, run, end and remove one.

import { nearest } from '../../base/suggest.ts'
import { type App, RegrowError } from '../../index.ts'
import { operate } from '../../operate/index.ts'
import { appArgs, command, type Group, storeArgs, usage, wholeNumber } from '../command.ts'
import { withStore } from '../open.ts'
import { table, visible } from '../output.ts'
import { localText, recurs, schedulesTable, scheduleText, utcText } from '../render/schedules.ts'

const where = { ...storeArgs, ...appArgs }
const schedule = {
  type: 'positional',
  required: true,
  description: 'The schedule; the job of that name declares it',
} as const
const author = {
  type: 'string',
  valueHint: 'name',
  description: 'Who acts. Defaults to REGROW_AUTHOR, then user@host',
} as const

const list = command({
  name: 'schedules list',
  summary: 'Lists what recurs, how it stands, and when it fires next',
  args: {
    job: { type: 'string', valueHint: 'name', description: 'Only of this job' },
    limit: { type: 'string', valueHint: 'n', description: 'Schedules per page, 1,000 at most. Defaults to 100' },
    after: { type: 'string', valueHint: 'name', description: 'The next page; the page before names it' },
    ...where,
  },
  examples: [
    ['regrow schedules list', ''],
    ["regrow schedules list --json | jq '.schedules[] | select(.live | not) | .name'", 'those that no live worker has'],
  ],
  async run(args, cli) {
    const limit = wholeNumber(args.limit, 'limit', 1)
    const { job, after } = args
    const choice = { ...(job ? { job } : {}), ...(after ? { after } : {}), ...(limit ? { limit } : {}) }
    return withStore(args, cli, async ({ app }) => {
      const { schedules, next } = await operate(app).schedules.list(choice)
      cli.out.result({ schedules, next }, () => {
        if (schedules.length === 0)
          return 'No schedule yet: a worker that has a job with `schedule` makes it when it starts.'
        const lines = schedulesTable(schedules, cli.out.color, cli.around.screen()?.columns)
        return next === null ? lines : `${lines}\n\nMore: add --after ${visible(next)}`
      })
      return 0
    })
  },
})

const show = command({
  name: 'schedules show',
  summary: 'Shows one schedule, with its last slots: what ran, what was skipped, and why',
  args: {
    schedule,
    slots: { type: 'string', valueHint: 'n', description: 'So many slots, 1,000 at most. Defaults to 20' },
    ...where,
  },
  examples: [['regrow schedules show report.nightly --slots 50', '']],
  async run(args, cli) {
    const slots = wholeNumber(args.slots, 'slots', 1)
    return withStore(args, cli, async ({ app }) => {
      const found = await operate(app).schedules.show(args.schedule, slots ? { slots } : {})
      if (!found) throw await notThere(app, args.schedule)
      cli.out.result(found, () => scheduleText(found, cli.out.color, cli.around.screen()?.columns))
      return 0
    })
  },
})

const next = command({
  name: 'schedules next',
  summary: 'Shows when a schedule fires next, by the clocks of its zone and in UTC',
  about: 'By its pattern alone: also of one that is paused or has ended. Shifts of the clocks are in it.',
  args: {
    schedule,
    count: { type: 'string', valueHint: 'n', description: 'So many instants, 1,000 at most. Defaults to 10' },
    ...where,
  },
  examples: [['regrow schedules next report.nightly --count 200', 'over the next shift of the clocks']],
  async run(args, cli) {
    const count = wholeNumber(args.count, 'count', 1)
    return withStore(args, cli, async ({ app }) => {
      const found = await operate(app).schedules.show(args.schedule, { slots: 0 })
      if (!found) throw await notThere(app, args.schedule)
      const instants = (await operate(app).schedules.next(args.schedule, count)).map((at) => ({
        at,
        local: localText(at, found.tz),
      }))
      cli.out.result({ schedule: found.name, tz: found.tz, instants }, () => {
        const head = `${visible(found.name)}: ${recurs(found)}`
        if (instants.length === 0) return `${head}\nIt fires no more.`
        const rows = instants.map(({ at, local }) => [local, utcText(at)])
        return `${head}\n${table(cli.out.color, [visible(found.tz), 'UTC'], rows)}`
      })
      return 0
    })
  },
})

const pause = command({
  name: 'schedules pause',
  summary: 'Stops the slots of a schedule until it is resumed',
  about:
    'What runs goes on. Instants that pass meanwhile are recorded as skipped. `regrow pause <job>` stops a whole job instead,\nand loses no slot: what waits runs when it is resumed.',
  args: {
    schedule,
    reason: { type: 'string', valueHint: 'text', description: 'Why; whoever finds it paused reads it. Needed' },
    author,
    ...where,
  },
  examples: [["regrow schedules pause report.nightly --reason 'the warehouse moves'", '']],
  async run({ schedule: name, reason, ...args }, cli) {
    if (reason === undefined)
      throw usage('--reason is missing', 'Say why: --reason "…". Whoever finds the schedule paused reads it.')
    return withStore(args, cli, async ({ app }) => {
      await operate(app).schedules.pause(name, { reason, author: args.author ?? cli.around.author })
      cli.out.result({ schedule: name, paused: true, reason }, () =>
        [
          `${visible(name)} is paused: ${visible(reason)}`,
          'Its slots start nothing from now on, and instants that pass are recorded as skipped. What runs goes on.',
          `It goes on with: regrow schedules resume ${visible(name)}`,
        ].join('\n'),
      )
      return 0
    })
  },
})

const resume = command({
  name: 'schedules resume',
  summary: 'Lets a paused schedule go on, or one that was ended, from its next instant',
  args: { schedule, author, ...where },
  examples: [['regrow schedules resume report.nightly', '']],
  run: ({ schedule: name, ...args }, cli) =>
    withStore(args, cli, async ({ app }) => {
      await operate(app).schedules.resume(name, { author: args.author ?? cli.around.author })
      const found = await operate(app).schedules.show(name, { slots: 0 })
      const [first] = await operate(app).schedules.next(name, 1)
      cli.out.result({ schedule: name, resumed: true, next: first ?? null, live: found?.live ?? false }, () => {
        const when = first && found ? `Its next instant is ${localText(first, found.tz)}.` : 'It fires no more.'
        const absent = found?.live ? '' : ' No live worker has its job: slots are made when one does.'
        return `${visible(name)} goes on. ${when}${absent}`
      })
      return 0
    }),
})

const run = command({
  name: 'schedules run',
  summary: 'Makes a slot of this moment, beside the pattern',
  about:
    'It starts at once where a worker is free, and is in the history like any other. The next instant stays as it is.',
  args: { schedule, author, ...where },
  examples: [['regrow schedules run report.nightly', '']],
  run: ({ schedule: name, ...args }, cli) =>
    withStore(args, cli, async ({ app }) => {
      const { at, key } = await operate(app).schedules.run(name, { author: args.author ?? cli.around.author })
      const live = (await operate(app).schedules.show(name, { slots: 0 }))?.live ?? false
      cli.out.result({ schedule: name, at, key, live }, () =>
        live
          ? `${visible(name)}: the slot ${visible(key)} is queued.`
          : `${visible(name)}: the slot ${visible(key)} waits. No live worker has its job: it starts when one does.`,
      )
      return 0
    }),
})

const end = command({
  name: 'schedules end',
  summary: 'Ends a schedule for good: also when code still declares it',
  about:
    'What runs goes on, the slot that waits is skipped, the history stays. `schedules resume` brings it back; adding it again does not.',
  args: { schedule, author, yes: { type: 'boolean', description: 'Yes, end it: needed' }, ...where },
  examples: [['regrow schedules end report.nightly --yes', '']],
  async run({ schedule: name, yes, ...args }, cli) {
    if (!yes)
      throw usage(
        `${visible(name)} would never fire again, also where code declares it`,
        'Add --yes if that is meant. `regrow schedules pause` stops it for a while.',
      )
    return withStore(args, cli, async ({ app }) => {
      await operate(app).schedules.end(name, { author: args.author ?? cli.around.author })
      cli.out.result(
        { schedule: name, ended: true },
        () => `${visible(name)} has ended. It comes back with: regrow schedules resume ${visible(name)}`,
      )
      return 0
    })
  },
})

const remove = command({
  name: 'schedules remove',
  summary: 'Deletes a schedule that was made at run time, or that no live worker has, with its history',
  about:
    'What runs goes on. A schedule that code declares is made again when a worker starts: `schedules end` stops that.',
  args: { schedule, author, yes: { type: 'boolean', description: 'Yes, delete it: needed' }, ...where },
  examples: [['regrow schedules remove digest.ada --yes', '']],
  async run({ schedule: name, yes, ...args }, cli) {
    if (!yes)
      throw usage(
        `${visible(name)} and the history of its slots would be deleted`,
        'Add --yes if that is meant. `regrow schedules end` keeps its history and can be taken back.',
      )
    return withStore(args, cli, async ({ app }) => {
      await operate(app).schedules.remove(name, { author: args.author ?? cli.around.author })
      cli.out.result({ schedule: name, removed: true }, () => `${visible(name)} is removed, with its history.`)
      return 0
    })
  },
})

async function notThere(app: App, name: string): Promise<RegrowError> {
  const { schedules } = await operate(app).schedules.list({ limit: 1_000 })
  const guess = nearest(
    name,
    schedules.map((each) => each.name),
  )
  return new RegrowError(
    'unknown_schedule',
    `There is no schedule "${visible(name)}"`,
    guess ? `Did you mean "${guess}"?` : '`regrow schedules list` shows all of them.',
  )
}

export const schedules: Group = {
  kind: 'group',
  name: 'schedules',
  summary: 'Lists, shows, pauses, resumes, runs, ends and removes what recurs',
  about: undefined,
  examples: [],
  commands: { list, show, next, pause, resume, run, end, remove },
}
