// The upper arrow begins here: a key or an input comes in, hints go out through the one door. A broken queue never fails
// the caller's request: the row or intent is there, and the sweep finds it.
import type { Clock } from '../base/clock.ts'
import { RegrowError } from '../base/errors.ts'
import { inPages } from '../base/for-each-page.ts'
import type { Random } from '../base/random.ts'
import { unknownOptions } from '../base/suggest.ts'
import type { EnqueueInputOptions, EnqueuePendingOptions, EnqueueReport, TransactionLike } from '../job/declaration.ts'
import type { Job } from '../job/job.ts'
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { Classify } from '../store/errors.ts'
import { isInTransaction } from '../store/held-transaction.ts'
import type { IntentRow, Intents } from '../store/intents.ts'
import { pushAfterCommit } from './after-commit.ts'
import { type AdoptTransaction, checkArguments, transactionOf } from './arguments.ts'
import type { RecordTogether } from './coalesce.ts'
import { acceptedInputs, idInUse, intentsOf, rowsThatFit } from './intents.ts'
import { jitterOf } from './jitter.ts'

export interface EnqueuePorts {
  readonly clock: Clock
  readonly random: Random
  readonly push: Push
  readonly intents: Pick<Intents, 'record' | 'openWriters'>
  readonly classify: Classify
  readonly together: RecordTogether
  readonly adopt: AdoptTransaction
}

/** Pages on their way at a time: while the store writes one, the next one is hinted. */
const pagesAway = 3

/** Hints for keys whose rows are the user's own. */
export async function enqueueKeys(
  ports: EnqueuePorts,
  job: Job,
  keys: Iterable<unknown>,
  options: EnqueuePendingOptions = {},
): Promise<EnqueueReport> {
  checkArguments(job.name, keys, options)
  refuseWhen(job, options)
  refuseUnknown(job, options, ['jitter', 'tx'])
  const jitter = jitterOf(ports.random, options.jitter)
  const texts = Array.from(keys, (key) => keyOf(job, key))
  const hintsOf = (page: readonly string[]) =>
    page.map((key): Hint => ({ job: job.name, key, delayMs: jitter(), fresh: true }))
  if (options.tx || texts.length <= keysPage) {
    const { added, merged, dropped } = await pushOrWait(ports, hintsOf(texts), options.tx)
    return { added, merged, dropped, held: 0, keys: texts }
  }
  const report = { added: 0, merged: 0, dropped: 0 }
  await inPages(
    { count: texts.length, away: keysPagesAway },
    () => keysPage,
    async (from, until) => {
      const { added, merged, dropped } = await ports.push(hintsOf(texts.slice(from, until)))
      report.added += added
      report.merged += merged
      report.dropped += dropped
    },
  )
  return { ...report, held: 0, keys: texts }
}

/** Hints that are made at a time: those of a million keys, all at once, would outlive every collection of garbage until the last is pushed. */
const keysPage = 2_000
/** Such pages on their way: while the queue works on one, the next one is made and sent. */
const keysPagesAway = 4

/** Intents, then their hints. */
export async function enqueueInputs(
  ports: EnqueuePorts,
  job: Job,
  inputs: Iterable<unknown>,
  options: EnqueueInputOptions = {},
): Promise<EnqueueReport> {
  checkArguments(job.name, inputs, options)
  refuseUnknown(job, options, ['in', 'at', 'jitter', 'tx', 'id', 'unique'])
  const jitter = jitterOf(ports.random, options.jitter)
  const texts = await acceptedInputs(job, inputs)
  const rowOf = intentsOf(ports, job, texts.length, options)
  // Who is in a transaction goes alone: in it, or to be told that it waits for itself (drivers/sql/single-connection.ts).
  if (texts.length === 1 && !options.tx && !isInTransaction())
    return ports.together(job.name, rowOf(texts[0] as string), jitter())
  const report = { added: 0, merged: 0, dropped: 0, held: 0 }
  const keys: string[] = new Array(texts.length)
  const tx = options.tx && (await transactionOf(ports, `enqueue of "${job.name}"`, options.tx))
  const recordPage = async (from: number, page: readonly IntentRow[]) => {
    const answers = await ports.intents.record(job.name, page, tx)
    const [news, others]: [Hint[], Hint[]] = [[], []]
    for (const [i, answer] of answers.entries()) {
      if (answer.usedBy !== null) throw idInUse(job.name, answer.id, answer.usedBy)
      keys[from + i] = answer.heldBy
      if (answer.paused) report.held++
      else
        (answer.added ? news : others).push({
          job: job.name,
          key: answer.heldBy,
          delayMs: answer.waitMs + jitter(),
          fresh: true,
        })
    }
    const pushed = await pushOrWait(ports, news, options.tx)
    // Work that was there before is merged into it, also when its hint was popped already.
    const again = others.length > 0 ? await pushOrWait(ports, others, options.tx) : { added: 0, merged: 0, dropped: 0 }
    report.added += pushed.added
    report.merged += pushed.merged + again.added + again.merged
    report.dropped += pushed.dropped + again.dropped
  }
  await inPages(
    // In a transaction one after the other: it has one connection.
    { count: texts.length, away: options.tx ? 1 : pagesAway },
    (from) => rowsThatFit(texts, from, (text) => text),
    (from, until) => recordPage(from, texts.slice(from, until).map(rowOf)),
  )
  return { ...report, keys }
}

/** A bad key is an error of the call; it names the job, since the caller may enqueue several. */
function keyOf(job: Job, key: unknown): string {
  try {
    return job.key.encode(key)
  } catch (error) {
    if (!(error instanceof RegrowError)) throw error
    throw new RegrowError(error.code, `Job "${job.name}": ${error.message.split('\n  → ')[0]}`, error.hint)
  }
}

async function pushOrWait(ports: EnqueuePorts, hints: readonly Hint[], tx: TransactionLike | undefined) {
  if (tx && pushAfterCommit(tx, hints)) return { added: hints.length, merged: 0, dropped: 0 }
  return ports.push(hints)
}

function refuseWhen(job: Job, options: object): void {
  for (const name of ['in', 'at'])
    if (name in options && options[name as never] !== undefined)
      throw new RegrowError(
        'row_says_when',
        `\`${name}\` was given to "${job.name}", a \`pending\` job`,
        'The row says when: return it as `run_at` from the pending query.',
      )
}

function refuseUnknown(job: Job, options: object, known: readonly string[]): void {
  const mistakes = unknownOptions(options, known, `enqueue of "${job.name}"`)
  if (mistakes.length > 0) throw new RegrowError('bad_options', mistakes.join('; '), 'Nothing was enqueued.')
}

/** What recurs has no key that somebody could enqueue: its slots make themselves. */
export async function enqueueSlots(_: EnqueuePorts, job: Job): Promise<never> {
  throw new RegrowError(
    'not_enqueued',
    `"${job.name}" recurs by its schedule; there is nothing to enqueue`,
    `A run beside the schedule: operate(app).schedules.run('${job.name}'), or \`regrow schedules run ${job.name}\`.`,
  )
}
