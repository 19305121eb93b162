// The upper arrow begins here: a key or an input comes in, hints go out through the one door. A broken queue never fails
// the caller's request: the row or intent is there, and the sweep finds it.
import type { Clock } from '../base/clock.ts'
import { RegrowError } from '../base/errors.ts'
import { unknownOptions } from '../base/options.ts'
import type { Random } from '../base/random.ts'
import type { EnqueueInputOptions, EnqueuePendingOptions, EnqueueReport, TransactionLike } from '../job/declaration.ts'
import type { Job } from '../job/job.ts'
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { SqlExecutor } from '../store/executor.ts'
import type { Intents } from '../store/intents.ts'
import { pushAfterCommit } from './after-commit.ts'
import { jitterOf } from './jitter.ts'
import { intentsOf } from './record.ts'

export interface EnqueuePorts {
  readonly clock: Clock
  readonly random: Random
  readonly push: Push
  readonly intents: Pick<Intents, 'record'>
}

const pageSize = 1_000
/** Pages on their way at a time: while the store writes one, the next one is hinted. */
const pagesAway = 2

/** Hints for keys whose rows are the user's own. */
export async function enqueueKeys(
  ports: EnqueuePorts,
  job: Job,
  keys: Iterable<unknown>,
  options: EnqueuePendingOptions = {},
): Promise<EnqueueReport> {
  refuseWhen(job, options)
  refuseUnknown(job, options, ['jitter', 'tx'])
  const jitter = jitterOf(ports.random, options.jitter)
  const texts = Array.from(keys, (key) => keyOf(job, key))
  const hints = texts.map((key): Hint => ({ job: job.name, key, delayMs: jitter(), fresh: true }))
  return { ...(await pushOrWait(ports, hints, options.tx)), held: 0, keys: texts }
}

/** Intents, then their hints. */
export async function enqueueInputs(
  ports: EnqueuePorts,
  job: Job,
  inputs: Iterable<unknown>,
  options: EnqueueInputOptions = {},
): Promise<EnqueueReport> {
  refuseUnknown(job, options, ['in', 'at', 'jitter', 'tx', 'id', 'unique'])
  const jitter = jitterOf(ports.random, options.jitter)
  const rows = await intentsOf(ports, job, [...inputs], options)
  const report = { added: 0, merged: 0, dropped: 0, held: 0 }
  const keys: string[] = new Array(rows.length)
  const recordPage = async (from: number) => {
    const page = rows.slice(from, from + pageSize)
    const answers = await ports.intents.record(job.name, page, options.tx as SqlExecutor | undefined)
    const byId = new Map(answers.map((answer) => [answer.id, answer]))
    for (const [i, { id }] of page.entries()) keys[from + i] = byId.get(id)?.heldBy ?? id
    const open = answers.filter(({ paused }) => !paused)
    const hintsOf = (chosen: typeof answers) =>
      chosen.map(
        ({ heldBy, waitMs }): Hint => ({ job: job.name, key: heldBy, delayMs: waitMs + jitter(), fresh: true }),
      )
    const pushed = await pushOrWait(ports, hintsOf(open.filter(({ added }) => added)), options.tx)
    // Work that was there before is merged into it, also when its hint was popped already.
    const again = await pushOrWait(ports, hintsOf(open.filter(({ added }) => !added)), options.tx)
    report.added += pushed.added
    report.merged += pushed.merged + again.added + again.merged
    report.dropped += pushed.dropped + again.dropped
    report.held += answers.length - open.length
  }
  let at = 0
  const next = async () => {
    while (at < rows.length) {
      const from = at
      at += pageSize
      await recordPage(from)
    }
  }
  // In a transaction one after the other: it has one connection.
  await Promise.all(Array.from({ length: options.tx ? 1 : pagesAway }, next))
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
