// Reasons that hold a key back whatever the queue says: somebody has it, its row says no, or a person or its own failures
// keep it. Pure: one function per reason.
import { readable } from '../../base/duration.ts'
import { isKeyLength, keyBytesMax } from '../../job/key.ts'
import type { Unmet } from '../../store/diagnosis.ts'
import type { WhyFacts } from './facts.ts'
import { ago, count, fromNow, lastError, type Rule, since, typed } from './reason.ts'

const noProgressText = 'It ran and returned, but the row is still pending'

/** A different version is new work: what the ledger holds of another one is void. */
const remembered = ({ ledger, pending }: WhyFacts) => {
  if (ledger === null || ledger.claim) return null
  const renewed =
    pending.state === 'pending' &&
    pending.version !== null &&
    ledger.version !== null &&
    pending.version !== ledger.version
  return renewed ? null : ledger
}

export const broken: Rule = ({ pending, job, sweep, at, workers }) =>
  pending.state !== 'broken'
    ? null
    : {
        reason: 'query_broken',
        sentence: `The pending query of ${job} could not be asked for this key: ${pending.error}`,
        next: `Nothing of the job starts by it until it is mended. ${
          workers.able === 0
            ? 'Its sweep tries again when a worker that has the handler is there.'
            : `Its sweep tries again ${sweep ? fromNow(sweep.nextAt, at) : 'by itself'}.`
        }`,
        nextAt: workers.able === 0 ? null : (sweep?.nextAt ?? null),
        commands: [
          { line: `${typed('sweep', job)} --dry-run`, does: 'shows whether the query works, once it is mended' },
        ],
      }

/** Its row is pending, and neither queue nor ledger can hold its key. */
export const unusable: Rule = ({ key, pending, job }) =>
  pending.state !== 'pending' || isKeyLength(key)
    ? null
    : {
        reason: 'key_unusable',
        sentence: `Its row is pending, but its key has ${Buffer.byteLength(key)} bytes, and a key may have ${keyBytesMax}.`,
        next: `Nothing: it never runs. Other rows of ${job} are not affected.`,
        nextAt: null,
        commands: [],
      }

export const held: Rule = (facts) => {
  const { ledger, at, leaseMs, timeoutMs, workers, graceUntil } = facts
  const claim = ledger?.claim
  if (!ledger || !claim) return null
  const who = claim.worker ? `${claim.worker.host}, pid ${claim.worker.pid}` : 'a worker whose row is gone'
  if (claim.worker && claim.beating) {
    // Only the first take writes down when it was: later ones leave the time of the last failure.
    const first = ledger.failures + ledger.crashes === 0
    const duration = first ? `, for ${since(ledger.updatedAt, at)}` : ''
    const stuck =
      claim.worker.stuck > 0 ? ` ${count(claim.worker.stuck, 'slot')} of that worker did not end in time.` : ''
    return {
      reason: 'running',
      sentence: `It is running now: ${who}${duration}${claim.alone ? ', alone, since it crashed its process before' : ''}. That worker last beat ${ago(claim.worker.beatAt, at)}.${stuck}`,
      next: `It ends by itself, or is aborted ${readable(timeoutMs)} after it began. A worker that dies is noticed ${readable(leaseMs)} later.`,
      nextAt: first ? new Date(ledger.updatedAt.getTime() + timeoutMs) : null,
      commands: [],
    }
  }
  const beat = claim.worker?.beatAt ?? null
  const over = Math.max(beat ? beat.getTime() + leaseMs : at.getTime(), graceUntil?.getTime() ?? 0, at.getTime())
  const silent = beat ? `, which has been silent for ${since(beat, at)}` : ''
  return {
    reason: 'claim_silent',
    sentence: `It is claimed by ${who}${silent}: that worker is probably dead.`,
    next:
      workers.live > 0
        ? 'A live worker frees the claim, counts it as a crash and hints the key at once.'
        : 'No worker is alive to free the claim: the next one that starts does.',
    nextAt: workers.live > 0 ? new Date(over) : null,
    commands: workers.live > 0 ? [] : [{ line: 'regrow work', does: 'starts a worker: it frees what the dead held' }],
  }
}

export const notPending: Rule = ({ pending, kind, intent }) => {
  if (pending.state !== 'not') return null
  const next = 'Nothing: a key that is not pending is not started, hinted or not.'
  if (kind === 'input')
    return {
      reason: 'no_row',
      sentence: intent
        ? 'Its intent is stored, but was not found pending a moment ago: ask again.'
        : 'There is no intent of this id: it is done, it was dropped, or it was never stored.',
      next,
      nextAt: null,
      commands: [],
    }
  if (kind === 'schedule')
    return {
      reason: 'no_row',
      sentence: 'There is no waiting slot of this key: it ran, it was skipped, or its schedule is paused or has ended.',
      next,
      nextAt: null,
      commands: [
        { line: 'regrow schedules list', does: 'which schedules there are; `show` tells of the slots of one' },
      ],
    }
  const { unmet } = pending
  if (unmet?.kind === 'no_row')
    return {
      reason: 'no_row',
      sentence: `The table ${unmet.table} has no row of this key.`,
      next,
      nextAt: null,
      commands: [],
    }
  return {
    reason: 'not_pending',
    sentence: notMet(unmet),
    next: `${next} When the row changes, an enqueue starts it at once, and the next sweep finds it in any case.`,
    nextAt: null,
    commands: [],
  }
}

function notMet(unmet: Exclude<Unmet, { kind: 'no_row' }> | null): string {
  if (unmet === null) return 'The source of the job does not name it as pending.'
  if (unmet.kind === 'unknown')
    return 'The pending query does not return it. Which of its conditions fails is not known: this store does not say.'
  if (unmet.kind === 'untold')
    return `The pending query does not return it. It is not simple enough to tell which condition fails: ${unmet.why}.`
  if (unmet.conditions.length === 0)
    return 'It was not pending a moment ago, and meets every condition of the query by now: ask again.'
  const told = unmet.conditions.map(({ condition, found, everyRow }) => {
    if (everyRow) return `${condition} (which does not look at the row: it fails for all rows)`
    const values = Object.entries(found).map(([name, value]) => `${name} is ${value === null ? 'null' : `'${value}'`}`)
    return values.length === 0 ? condition : `${condition} (${values.join(', ')})`
  })
  const row = unmet.table === null ? 'It is not pending:' : `Its row in ${unmet.table} is there, but`
  return `${row} the pending query does not return it. What fails: ${told.join('; ')}.`
}

export const quarantined: Rule = (facts) => {
  const ledger = remembered(facts)
  if (ledger?.state !== 'quarantined') return null
  const { job, key, at, intent, versioned } = facts
  const tries = [
    count(ledger.failures, 'failure'),
    ...(ledger.crashes > 0 ? [count(ledger.crashes, 'crash', 'crashes')] : []),
  ]
  return {
    reason: 'quarantined',
    sentence: `It has been in quarantine for ${since(ledger.updatedAt, at)}, after ${tries.join(' and ')}.${lastError(ledger.error)}`,
    next: `Nothing, until a person releases it${versioned ? ', or its row gets another version' : ''}.`,
    nextAt: null,
    commands: [
      { line: typed('quarantine show', job, key), does: 'its whole error' },
      { line: typed('quarantine release', job, key), does: 'makes it new, when the cause is mended' },
      ...(intent ? [{ line: typed('quarantine drop', job, key), does: 'deletes its intent: it never runs' }] : []),
    ],
  }
}

export const paused: Rule = ({ pause, job, at }) =>
  pause === null
    ? null
    : {
        reason: 'paused',
        sentence: `The job has been paused for ${since(pause.since, at)} by ${pause.author}: ${pause.reason}`,
        next: pause.until
          ? `The pause is over ${fromNow(pause.until, at)}; then everything comes back, slowly at first.`
          : 'Nothing, until somebody resumes the job; then everything comes back, slowly at first.',
        nextAt: pause.until,
        commands: [{ line: typed('resume', job), does: 'ends the pause' }],
      }

/** The longest wait that the store tells, nearly: years have different lengths. */
const farMs = 3_650 * 86_400_000

export const runAt: Rule = ({ pending, at, kind }) => {
  if (pending.state !== 'pending' || pending.waitMs <= 0) return null
  const then = new Date(at.getTime() + pending.waitMs)
  const whose = { input: 'It was enqueued for', schedule: 'Its slot is due at', pending: '`run_at` of its row is' }[
    kind
  ]
  if (pending.waitMs >= farMs)
    return {
      reason: 'run_at',
      sentence: `${whose} a time that is ten years or more away, or infinity.`,
      next: 'Nothing, as long as that time is not changed.',
      nextAt: null,
      commands: [],
    }
  return {
    reason: 'run_at',
    sentence: `${whose} ${then.toISOString()}, ${fromNow(then, at)}.`,
    next: 'It is hinted ahead, and starts then.',
    nextAt: then,
    commands: [],
  }
}

export const noWorker: Rule = ({ workers, job, sweep }) =>
  workers.able > 0
    ? null
    : {
        reason: 'no_worker',
        sentence: `No live worker has the handler of ${job}${workers.live > 0 ? `: ${count(workers.live, 'worker lives', 'workers live')}, with other jobs` : ', and no worker lives at all'}${sweep === null ? '; none ever had it' : ''}.`,
        next: 'It starts as soon as a worker that has the handler does.',
        nextAt: null,
        commands: [{ line: `regrow work --only ${job}`, does: 'a worker for this job' }],
      }

export const backedOff: Rule = (facts) => {
  const ledger = remembered(facts)
  const { at, attemptsMax } = facts
  if (ledger?.state !== 'retrying' || ledger.retryAt === null || ledger.retryAt <= at) return null
  const when = `${ledger.retryAt.toISOString()}, ${fromNow(ledger.retryAt, at)}`
  const next = `It is tried again then, for the ${ordinal(ledger.failures + ledger.crashes + 1)} time; after ${count(attemptsMax, 'failure')} it goes into quarantine.`
  const told = { next, nextAt: ledger.retryAt, commands: [] }
  if (ledger.error?.startsWith(noProgressText))
    return {
      reason: 'no_progress',
      sentence: `Its handler ran and returned ${count(ledger.failures, 'time')}, but the row stayed pending. It waits until ${when}. The handler has to change what the pending query asks for.`,
      ...told,
    }
  if (ledger.failures + ledger.crashes === 0)
    return {
      reason: 'backed_off',
      sentence: `Its handler asked to run again at ${when}.`,
      ...told,
      next: 'It runs then.',
    }
  return {
    reason: 'backed_off',
    sentence: `It failed ${count(ledger.failures, 'time')}${ledger.crashes > 0 ? ` and crashed ${count(ledger.crashes, 'time')}` : ''}, and waits until ${when}.${lastError(ledger.error)}`,
    ...told,
  }
}

const ordinal = (number: number) =>
  `${number}${/1[123]$/.test(String(number)) ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th')}`

export const suspect: Rule = (facts) => {
  const ledger = remembered(facts)
  if (!ledger?.suspect || ledger.state !== 'retrying') return null
  return {
    reason: 'suspect',
    sentence: `Its process died ${count(ledger.crashes, 'time')} while it ran: it is a suspect, and waits to run alone.${facts.otherSuspect ? ' Another suspect of the job runs right now: one at a time.' : ''}${lastError(ledger.error)}`,
    next: 'A worker lets what it runs come to an end, then runs this key with nothing beside it. After three crashes alone it goes into quarantine.',
    nextAt: null,
    commands: [],
  }
}
