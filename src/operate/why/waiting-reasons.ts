// Reasons of a key that nothing holds back: where is its hint, and if it has none, who will bring it? Pure.
import { readable } from '../../base/duration.ts'
import type { WhyFacts } from './facts.ts'
import { ago, count, enqueueIt, fromNow, lastError, type Reason, type Rule, typed } from './reason.ts'

/** A sweep that is due for so long is made by nobody. */
const lateMs = 120_000

/** Why a key that may start has not: always finds a reason. */
export function waiting(facts: WhyFacts): Reason {
  return (
    [queueDown, slotsFull, hinted, unknownHint, sweepFailing, queueFull, noProgress, sweepLate].reduce<Reason | null>(
      (told, judge) => told ?? judge(facts),
      null,
    ) ?? notHinted(facts)
  )
}

const queueDown: Rule = ({ queue, job, sweep, at }) =>
  !queue.down
    ? null
    : {
        reason: 'queue_down',
        sentence: `It is pending, and the queue (${queue.name}) does not answer.`,
        next: 'Nothing is lost: workers that find the queue down look for work by themselves, and come to this key in its turn.',
        nextAt: null,
        commands: [
          { line: 'regrow status', does: 'what else is wrong' },
          ...(sweep && sweep.nextAt <= at ? [] : [{ line: typed('sweep', job), does: 'once the queue is back' }]),
        ],
      }

/** A job with a `concurrency` of its own may wait while its workers have slots to spare. */
const slotsFull: Rule = (facts) => {
  const { hint, concurrency, running, workers, job, dueHints } = facts
  if (hint === null || hint === 'unknown' || hint.dueInMs > 0 || concurrency === null) return null
  if (running < concurrency * workers.able) return null
  const others = Math.max(0, (dueHints ?? 1) - 1)
  const where = workers.able === 1 ? 'the one worker that has it' : `each of the ${workers.able} workers that have it`
  return {
    reason: 'slots_full',
    sentence: `It is pending, its hint is due, and it waits only for a free slot of its job: ${job} has \`concurrency\` ${concurrency}, so ${where} runs ${count(concurrency, 'call')} of it at a time, and ${count(running, 'key')} of it ${running === 1 ? 'runs' : 'run'} now.${others === 0 ? '' : ` ${count(others, 'other')} of the job ${others === 1 ? 'waits' : 'wait'} as well.`}`,
    next: 'It starts when one of these ends and its turn comes: fresh hints first, a tenth of every pop for the others.',
    nextAt: null,
    commands: [
      ...(hint.fresh ? [] : enqueueIt(facts, 'puts it among the fresh hints, which go first')),
      {
        line: `regrow work --only ${job}`,
        does: `one more worker for this job, with ${count(concurrency, 'slot')} of its own`,
      },
    ],
  }
}

const hinted: Rule = (facts) => {
  const { hint, dueHints, at, sweep, sweepJitterMs } = facts
  if (hint === null || hint === 'unknown') return null
  if (hint.dueInMs > 0) {
    const then = new Date(at.getTime() + hint.dueInMs)
    return {
      reason: 'hinted_later',
      sentence: `It is pending, and its hint is in the queue, for later: it is due ${fromNow(then, at)}. A jitter of its enqueue${sweepJitterMs > 0 ? ` or of the job's sweep (\`sweep.jitter\`, ${readable(sweepJitterMs)})` : ''} has put it there, or a run of the key that was under way.`,
      next: 'A worker pops it then.',
      nextAt: then,
      commands: enqueueIt(facts, 'makes it due now'),
    }
  }
  const others = Math.max(0, (dueHints ?? 1) - 1)
  const full = sweep && sweep.dropped > 0 ? ' The queue is full: the sweep leaves hints out until it drains.' : ''
  return {
    reason: 'queued',
    sentence:
      others === 0
        ? 'It is pending, and its hint is due in the queue: a worker is about to pop it.'
        : `It is pending, and its hint is due in the queue, with ${count(others, 'other')} of its job: workers are busy with those before it.${full}`,
    next: 'It starts when its turn comes: fresh hints first, a tenth of every pop for the others.',
    nextAt: null,
    commands: [
      ...(hint.fresh ? [] : enqueueIt(facts, 'puts it among the fresh hints, which go first')),
      { line: `regrow work --only ${facts.job}`, does: 'one more worker for this job' },
    ],
  }
}

const unknownHint: Rule = (facts) => {
  const { hint, queue, at } = facts
  if (hint !== 'unknown') return null
  const why = queue.shared ? 'cannot be asked for single hints' : 'is in the memory of each worker'
  return {
    reason: 'hint_unknown',
    sentence: `It is pending, and nothing holds it back. Whether it has a hint cannot be seen from here: the queue (${queue.name}) ${why}.`,
    ...bySweep(
      facts,
      `It starts when a worker pops its hint, or finds its row: ${sweepText(facts, at)}. A hint that a jitter delays is left where it is.`,
    ),
  }
}

const sweepFailing: Rule = (facts) => {
  const { sweep, job, at } = facts
  if (!sweep || sweep.errors === 0) return null
  return {
    reason: 'sweep_failing',
    sentence: `It is pending and has no hint, and the sweep that would bring one has failed${sweep.errors > 1 ? ` ${sweep.errors} times in a row` : ''}.${lastError(sweep.lastError)}`,
    next: `The sweep tries again ${fromNow(sweep.nextAt, at)}; until it succeeds, a lost hint stays lost.`,
    nextAt: sweep.nextAt,
    commands: [
      { line: `${typed('sweep', job)} --dry-run`, does: 'shows whether the query works, once it is mended' },
      ...enqueueIt(facts, 'hints this key without the sweep'),
    ],
  }
}

const queueFull: Rule = (facts) => {
  const { sweep, dueHints } = facts
  if (!sweep || sweep.dropped === 0) return null
  return {
    reason: 'queue_full',
    sentence: `It is pending and has no hint: the queue is full${dueHints ? ` (${count(dueHints, 'hint')} of the job are due)` : ''}, so the sweep left hints out. The row is safe in its table.`,
    next: 'The sweep goes on each second, as the queue drains, and comes to this key in the order of keys.',
    nextAt: sweep.nextAt,
    commands: [
      ...enqueueIt(facts, 'hints it now: fresh hints have a bound of their own'),
      { line: `regrow work --only ${facts.job}`, does: 'one more worker, so that the queue drains sooner' },
    ],
  }
}

/** Without a version column nobody writes down which key it was. */
const noProgress: Rule = (facts) => {
  const { versioned, noProgress: runs, kind } = facts
  if (versioned || runs === 0 || kind !== 'pending') return null
  return {
    reason: 'no_progress',
    sentence: `It is pending and has no hint. ${count(runs, 'run')} of this job ended well lately while the row stayed pending: if this was one of them, its handler did not change what the query asks for.`,
    ...bySweep(facts, `Without a \`version\` column it runs once per sweep: ${sweepText(facts, facts.at)}.`),
  }
}

const sweepLate: Rule = (facts) => {
  const { sweep, at, job } = facts
  if (!sweep || sweep.sweeping || at.getTime() - sweep.nextAt.getTime() < lateMs) return null
  return {
    reason: 'sweep_late',
    sentence: `It is pending and has no hint, and the sweep that would bring one was due ${ago(sweep.nextAt, at)}: nobody makes it.`,
    next: 'Workers that have the handler make it. They live, so look at their logs for sweep.failed, loop.failed and loop.stalled.',
    nextAt: null,
    commands: [{ line: typed('sweep', job), does: 'makes the pass now' }, ...enqueueIt(facts, 'hints this key alone')],
  }
}

const notHinted = (facts: WhyFacts): Reason => ({
  reason: 'not_hinted',
  sentence: 'It is pending and has no hint: it was not enqueued, or its hint was lost.',
  ...bySweep(facts, `The sweep finds it: ${sweepText(facts, facts.at)}.`),
})

const bySweep = (facts: WhyFacts, next: string): Pick<Reason, 'next' | 'nextAt' | 'commands'> => ({
  next,
  nextAt: facts.sweepJitterMs > 0 ? null : (facts.sweep?.nextAt ?? null),
  commands: [
    ...(facts.queue.shared ? enqueueIt(facts, 'hints it now') : []),
    { line: typed('sweep', facts.job), does: 'a whole pass of the job now' },
  ],
})

function sweepText({ sweep, sweepJitterMs }: WhyFacts, at: Date): string {
  const spread =
    sweepJitterMs > 0 ? `, and it starts within ${readable(sweepJitterMs)} after that (\`sweep.jitter\`)` : ''
  return `${passText(sweep, at)}${spread}`
}

function passText(sweep: WhyFacts['sweep'], at: Date): string {
  if (sweep === null) return 'at the first sweep of the job, when a worker starts'
  if (sweep.sweeping) return 'a pass is under way'
  return sweep.nextAt <= at ? 'a pass is due now' : `the next pass is due ${fromNow(sweep.nextAt, at)}`
}
