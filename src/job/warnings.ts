// Which events a person should read without having asked for them, and in which words. In: an event. Out: one line, and what it
// counts as the same as; null for everything that is as it should be.
import { readable } from '../base/duration.ts'
import { causeOf, messageOf, RegrowError } from '../base/errors.ts'
import type { LogRecord } from '../base/log.ts'
import { type EventMap, type LoopName, loopTexts } from './event-map.ts'

/** A line for people, before it is decided whether it is said now. */
export interface Warning extends Pick<LogRecord, 'level' | 'message' | 'fields'> {
  /** Warnings of one kind are the same to a reader. */
  readonly kind: string
  /** Those of one family have the same cause in different jobs. */
  readonly family: string
  /** What is said where it comes later than it happened: what was to follow may have happened by then. */
  readonly later?: string
}

/** Whether an error means that the store is away for now. */
type IsOutage = (error: unknown) => boolean

type Texts = {
  readonly [Name in keyof EventMap]?: (detail: EventMap[Name], isOutage: IsOutage) => Warning | null
}

/** What one line of an error holds at most. */
const errorCharacters = 300
/** Causes that are told of an error of regrow: they may be a circle. */
const causesMost = 3

export function warningOf<Name extends keyof EventMap>(
  name: Name,
  detail: EventMap[Name],
  isOutage: IsOutage,
): Warning | null {
  const found = texts[name]?.(detail, isOutage) ?? null
  if (found === null || found.kind === outageKind || found.kind === closedKind) return found
  return { ...found, kind: `${name} ${found.kind}`, family: `${name} ${found.family}` }
}

const line = (
  level: Warning['level'],
  message: string,
  { error, ...fields }: Readonly<Record<string, unknown>> = {},
): Warning => {
  const why = error === undefined || error === null ? '' : reasonOf(error, fields.job)
  const family = `${level} ${alike(why)}`
  const kind = [...Object.entries(fields).flatMap(([name, value]) => (name === 'key' ? [] : [value])), family].join(' ')
  return { level, message: why === '' ? message : `${message}: ${why}`, fields, kind, family }
}

const outageKind = 'outage'

/** Everything that needs the store fails at the same time while it is away: one line for all of it. */
const outage = (error: unknown): Warning => ({
  ...line('error', 'the store cannot be reached; this worker goes on when it is back', { error }),
  kind: outageKind,
  family: outageKind,
})

const closedKind = 'closed'

/** Every loop fails of it, and none will succeed: one line for all of it. */
const closed = (error: unknown): Warning => ({
  ...line('error', 'this worker has lost its store for good, and can only be closed', { error }),
  kind: closedKind,
  family: closedKind,
})

const isClosed = (error: unknown): boolean => error instanceof RegrowError && error.code === 'not_connected'

const texts: Texts = {
  'job.settled': ({ job, key, state, error }) => {
    if (error === null) return null
    return state === 'quarantined'
      ? line('error', `${job} ${key} is in quarantine`, { job, key, error })
      : {
          ...line('warn', `${job} ${key} failed, and is tried again`, { job, key, error }),
          later: line('warn', `${job} ${key} had failed`, { job, key, error }).message,
        }
  },
  'job.lease_lost': ({ job, key }) =>
    line('warn', `${job} ${key} lost its claim; its result was discarded`, { job, key }),
  'job.threw_after_tx': ({ job, key, error }) =>
    line('warn', `${job} ${key} threw after its transaction had committed; it stays a success`, { job, key, error }),
  'job.stuck': ({ job, key }) =>
    line('error', `${job} ${key} did not end after its timeout; its slot is stuck`, { job, key }),
  'job.no_progress': ({ job, key, why }) =>
    line('warn', `${job} ${key} ran, but its row is still pending${stillPending[why]}`, { job, key, why }),
  'job.crashed': ({ job, key, crashes, quarantined }) =>
    quarantined
      ? line('error', `${job} ${key} is in quarantine: workers died of it`, { job, key })
      : line('warn', `a worker died while it ran ${job} ${key}, crash ${crashes} of this key`, { job, key }),
  'job.unhandled': ({ jobs, why }) =>
    why === 'late'
      ? line(
          'warn',
          `${jobs.join(', ')}: declared after app.work(), so this worker does not run it. Declare jobs first`,
          {
            jobs,
          },
        )
      : line(
          'warn',
          `this worker has no handler of ${jobs.join(', ')}. Give each a \`run\`, pass its handler to app.work({ handlers }), or name it in \`except\` if other workers run it`,
          { jobs },
        ),
  'hint.dropped': ({ count, why, error }) => line('warn', dropped[why](count), { why, error }),
  'sweep.failed': ({ job, error }, isOutage) =>
    isClosed(error)
      ? closed(error)
      : isOutage(error)
        ? outage(error)
        : line('error', `the sweep of ${job} failed`, { job, error }),
  'sweep.passed': ({ job, unusable, unusableReason }) =>
    unusable === 0
      ? null
      : line('error', `${job}: ${counted(unusable, 'row')} can never run: ${unusableReason}`, { job }),
  'declarations.missing': ({ sweeps, schedules }) =>
    line('warn', `${[...sweeps, ...schedules].join(', ')}: gone from the store, and declared again`, {
      sweeps,
      schedules,
    }),
  'queue.lost': ({ queue, how }) =>
    line('warn', `the queue "${queue}" was lost (its mark is ${how}); every job is swept from its beginning`, {
      queue,
    }),
  'queue.healed': ({ pushed, tookMs }) =>
    line('info', `the queue has grown back: ${counted(pushed, 'hint')} in ${readable(tookMs)}`),
  'queue.repaired': ({ queue, keys, jobs }) =>
    line(
      'warn',
      `somebody wrote values of another type into the queue "${queue}"; they were deleted, and the sweep brings the hints back: ${keys.slice(0, 5).join(', ')}`,
      { queue, jobs },
    ),
  'store.repaired': ({ rows }) =>
    line(
      'warn',
      `${counted(rows.length, 'row')} of regrow's tables held what regrow never writes, and ${rows.length === 1 ? 'was' : 'were'} put right: ${rows
        .slice(0, 5)
        .map(({ table, row }) => `regrow.${table} (${row})`)
        .join(', ')}${rows.length > 5 ? ', …' : ''}. Who else writes to them?`,
      { rows: rows.length },
    ),
  'queue.down': ({ queue, error }) =>
    line('error', `the queue "${queue}" is down; workers look for work by themselves`, { queue, error }),
  'queue.up': ({ queue, downMs }) => line('info', `the queue "${queue}" is back after ${readable(downMs)}`, { queue }),
  'pause.over': ({ job }) => line('info', `the pause of ${job} has run out`, { job }),
  'heartbeat.failed': ({ job, error }) => line('warn', `the heartbeat of ${job} failed`, { job, error }),
  'slot.skipped': ({ schedule, at, reason, through, count }) => {
    if (reason !== 'missed' && reason !== 'overlap') return null
    const why = reason === 'missed' ? 'no worker was there' : 'the run before it had not ended'
    const several = through === null ? '' : ` to ${through}${count === null ? '' : `, ${counted(count, 'instant')},`}`
    const verb = through === null || count === 1 ? 'was' : 'were'
    return line('warn', `${schedule}: ${at}${several} ${verb} skipped, ${why}`, { schedule, reason })
  },
  'schedule.ended': ({ schedule }) =>
    line('warn', `the schedule ${schedule} has ended: for seven days no live worker had its job`, { schedule }),
  'worker.failed': ({ error, awaited }) => (awaited ? null : line('error', 'this worker cannot start', { error })),
  'worker.freed': ({ workers, keys }) =>
    line(
      'warn',
      `${counted(workers, 'worker')} died; ${keys === 0 ? 'no key was' : keys === 1 ? '1 key was' : `${keys} keys were`} freed`,
    ),
  'worker.gone': () => line('warn', 'another worker declared this one dead; it goes on under a new identity'),
  'worker.recycle': ({ stuck, concurrency }) =>
    line('error', `${stuck} of ${concurrency} slots are stuck: restart this process`),
  'loop.failed': ({ loop, error, job, schedule }, isOutage) => {
    if (isClosed(error)) return closed(error)
    if (loop === 'open') return line('error', 'the store cannot be reached, this worker waits for it', { error })
    if (loop === 'stop')
      return line('warn', 'the worker could not give back what it held; its keys are freed after the lease', { error })
    if (isOutage(error) && !ofQueue.has(loop)) return outage(error)
    if (schedule !== undefined)
      return line('warn', `the schedule ${schedule} failed and is tried again`, { loop, schedule, error })
    const of = job === undefined ? '' : ` of ${job}`
    return line('warn', `${loopTexts[loop]}${of} failed and is tried again`, {
      loop,
      ...(job !== undefined && { job }),
      error,
    })
  },
  'listener.failed': ({ event, error }) => line('warn', `a listener of ${event} failed`, { event, error }),
  'loop.stalled': ({ loop }) => line('warn', `${loopTexts[loop]} took too long and was restarted`, { loop }),
}

/** Loops that also ask the queue: what is away may be that one. */
const ofQueue: ReadonlySet<LoopName> = new Set(['pop', 'queue_probe', 'canary'])

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
const hints = (count: number) => counted(count, 'hint')

const stillPending: { readonly [Why in EventMap['job.no_progress']['why']]: string } = {
  same_version: ': the handler has to change what the pending query asks for. It counts as a failure',
  no_version: ': it runs again with each sweep until the handler changes what the pending query asks for',
  version_changes:
    ', and its version is another one at each look: return a column that changes with the work, not the time or chance',
}

const dropped: { readonly [Why in EventMap['hint.dropped']['why']]: (count: number) => string } = {
  full: (count) => `the queue is full, the sweep brings what it did not take: ${hints(count)}`,
  memory: (count) => `the queue has no memory left, the sweep brings what it did not take: ${hints(count)}`,
  queue: (count) => `the queue did not take ${hints(count)}; the sweep finds the rows`,
  refused: (count) => `the queue cannot hold ${hints(count)}; the row stays as it is, and health names it`,
  foreign: (count) => `the queue held ${hints(count)} that no job has a key for; they were discarded`,
}

/**
 * What went wrong, in one line: the hint of an error of ours is part of it; of an error without a message (Node makes one of all
 * addresses of a host) what is inside.
 */
export function reasonOf(error: unknown, job?: unknown, depth = 0): string {
  const text = messageOf(error)
  // A text is an error as it was stored: with its stack.
  const [first = ''] = typeof error === 'string' ? text.split('\n', 1) : [text]
  const whole = first
    .slice(0, 10 * errorCharacters)
    .replace(`Job "${job}": `, '')
    .replace(/\.?\s+→ /, '. ')
    .replace(/\s+/g, ' ')
    .trim()
  const behind = error instanceof RegrowError && depth < causesMost ? causeOf(error) : undefined
  const inside = behind === undefined ? '' : reasonOf(behind, undefined, depth + 1)
  // Most errors of ours quote what caused them.
  const cause = inside === '' || whole.includes(inside) ? '' : ` (${inside})`
  return `${whole.length > errorCharacters ? `${whole.slice(0, errorCharacters - 1)}…` : whole}${cause}`
}

/** Numbers, ids and what is quoted differ from one error to the next of its kind. */
const alike = (why: string) => why.replace(/"[^"]*"|'[^']*'|[0-9a-f-]{8,}|\d+/gi, '#').slice(0, 100)
