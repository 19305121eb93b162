// After a success a statement of its own asks which keys are still pending: a handler that changes nothing would
// otherwise run for ever. In: successes of one job. Out: what is new work, and what made no progress.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Job } from '../job/job.ts'
import { decide } from '../job/outcome.ts'
import type { SettleRow, TakeAnswer } from '../store/ledger.ts'
import type { Source } from '../store/source.ts'
import { type GiveBackPorts, release } from './release.ts'
import type { Ready } from './stages.ts'

export interface Progress {
  /** Another version came up while it ran: to be hinted at once. */
  readonly renewed: string[]
  /** Still pending in the same version, recorded as a failure. */
  readonly stalled: { key: string; retryMs: number; quarantined: boolean }[]
  /** Still pending, and without a version nobody can tell whether it is new work: the sweep will find it. */
  readonly unclear: string[]
  /** Still pending, with another version at each look: it tells nothing, and the sweep will find the row. */
  readonly unsteady: string[]
}

/** A success whose row is still pending. */
interface Still {
  readonly entry: Ready
  readonly version: string | null
}

/** What a worker that stops knows of questions under way. */
export interface OpenClaims {
  /** Claims that may be ours, each list while its question is under way. */
  readonly open: Set<readonly Ready[]>
  /** True when the worker has given back all claims: none may be taken any more. */
  readonly ended: () => boolean
}

export interface ProgressPorts extends GiveBackPorts, OpenClaims {
  readonly clock: Clock
  readonly random: Random
}

export async function progress(
  ports: ProgressPorts,
  source: Source,
  job: Job,
  successes: readonly Ready[],
): Promise<Progress> {
  const still = await stillPending(source, successes)
  const { renewed, stalled } = await stalls(ports, source, job, still.filter(isSame))
  return {
    stalled,
    ...(await steadyOf(ports.clock, source, [...still.filter(isRenewed), ...renewed])),
    unclear: still.filter(({ version }) => version === null).map(({ entry }) => entry.key),
  }
}

async function stillPending(source: Source, entries: readonly Ready[]): Promise<Still[]> {
  if (entries.length === 0) return []
  const { pending } = await source.check(entries.map(({ key }) => key))
  return entries.flatMap((entry) => {
    const row = pending.get(entry.key)
    return row && row.waitMs <= 0 ? [{ entry, version: row.version }] : []
  })
}

const isSame = ({ entry, version }: Still) => version !== null && version === entry.version

/** Between two looks at a version: some clocks show milliseconds only. */
const lookApartMs = 10

const isRenewed = ({ entry, version }: Still) => version !== null && version !== entry.version

/**
 * Hinted at once, a row whose version is the time of the look would run without end. Of new work the version is the same when asked
 * again; a row that somebody changes between the two looks waits for its enqueue, or for the sweep.
 */
async function steadyOf(
  clock: Clock,
  source: Source,
  renewed: readonly Still[],
): Promise<Pick<Progress, 'renewed' | 'unsteady'>> {
  if (renewed.length === 0) return { renewed: [], unsteady: [] }
  await clock.sleep(lookApartMs)
  const seen = new Map(renewed.map(({ entry, version }) => [entry.key, version]))
  const again = await stillPending(
    source,
    renewed.map(({ entry }) => entry),
  )
  const keys = (isSteady: boolean) =>
    again.filter(({ entry, version }) => (version === seen.get(entry.key)) === isSteady).map(({ entry }) => entry.key)
  return { renewed: keys(true), unsteady: keys(false) }
}

/**
 * Records failures as a run does: take, then check, then settle. The success has ended the claim, so that others may have run
 * the key since; who blamed it by what was seen before would blame a version that is done (L9).
 */
async function stalls(
  ports: ProgressPorts,
  source: Source,
  job: Job,
  same: readonly Still[],
): Promise<{ readonly renewed: readonly Still[] } & Pick<Progress, 'stalled'>> {
  if (same.length === 0 || ports.ended()) return { renewed: [], stalled: [] }
  const { ledger, claims, random } = ports
  const runs = new Map(same.map(({ entry }) => [entry.key, entry]))
  const wanted = [...runs.values()].map((entry) => ({ ...entry, take: claims.next() }))
  /** Claims that may be ours: of a take without an answer, all of them. */
  let open: readonly Ready[] = wanted
  ports.open.add(open)
  const keepOpen = (isOpen: (take: number) => boolean) => {
    for (const { take } of open) if (!isOpen(take)) claims.forget(take)
    ports.open.delete(open)
    open = open.filter(({ take }) => isOpen(take))
    ports.open.add(open)
  }
  try {
    const answers = await ledger.take(
      claims.holder,
      wanted.map(({ key, take }) => ({ job: job.name, key, take })),
    )
    const byKey = new Map(answers.map((answer) => [answer.key, answer]))
    const taken = wanted.filter(({ key }) => byKey.get(key)?.verdict === 'taken')
    const ours = new Set(taken.map(({ take }) => take))
    keepOpen((take) => ours.has(take))
    // Declared dead meanwhile: the next beat registers it anew, and then it can be recorded.
    if (answers.some(({ verdict }) => verdict === 'lease_lost')) throw new Error('This worker is not registered')
    const still = await stillPending(
      source,
      taken.filter(({ key }) => isBlank(byKey.get(key) as TakeAnswer)),
    )
    const rows = still.filter(isSame).map((each) => failed(random, job, each))
    const held = rows.length > 0 ? await ledger.settle(claims.holder, rows) : new Set<number>()
    keepOpen((take) => !held.has(take))
    return {
      renewed: still.filter(isRenewed),
      stalled: rows
        .filter(({ take }) => held.has(take))
        .map(({ key, retryMs, state }) => ({ key, retryMs, quarantined: state === 'quarantined' })),
    }
  } finally {
    // At once, so that another try can have them; what fails here the beat gives back.
    await release(ports, open).catch(() => {})
    ports.open.delete(open)
  }
}

/** What is remembered of a key by now is of another run, and not ours to count on. */
const isBlank = ({ failures, crashes, version }: TakeAnswer) => failures === 0 && crashes === 0 && version === null

function failed(random: Random, job: Job, { entry, version }: Still): SettleRow {
  const error = new Error(
    `It ran and returned, but the row is still pending in version ${version}: the pending query of "${job.name}" still finds it`,
  )
  error.stack = error.message
  const settlement = decide(entry, { kind: 'failure', error }, job.retry, random) as Omit<SettleRow, 'version'>
  return { ...settlement, job: job.name, key: entry.key, take: entry.take, version, finish: null, noProgress: true }
}
