// One covered column: which job may claim which value, by proof, by rows, by trial; and which rows nobody would find.
import { messageOf, RegrowError } from '../../base/errors.ts'
import type { Job } from '../../job/job.ts'
import type { Coverage, StateColumn, StateReader, StateRows, TrialRow } from '../../store/coverage.ts'
import type { Source } from '../../store/source.ts'
import type { DoctorFinding } from '../doctor/finding.ts'
import type { Attempts } from './attempts.ts'
import { type Claimant, claimantsOf, mentions, type Neighbour } from './claimants.ts'
import type { ProvingPorts } from './coverage.ts'
import type { Declaration } from './declarations.ts'
import { type CoveredColumn, type CoveredValue, type RowSample, shownColumn } from './report.ts'

const rowsMax = 1_000
const keysShown = 5

/** What was found of a column, and findings about the jobs that could not be held against it. */
export async function examineColumn(
  ports: ProvingPorts,
  declaration: Declaration,
  trials: readonly TrialRow[],
  attempts: Attempts,
): Promise<{ column: CoveredColumn; findings: DoctorFinding[] }> {
  const { state, jobs } = declaration
  const shown = shownColumn(state)
  const store = ports.proving
  const ask = <T>(fallback: T, question: () => Promise<T>) => attempts.ask(shown, fallback, question)
  const nothing = { from: 'rows', values: [], bounded: 'they could not be read' } as const
  const { from, values: listed, bounded } = await ask(nothing, () => store.values(state))
  const values = (await hasStateless(store, state, listed, ask)) ? [...listed, null] : listed
  const { claimants, neighbours, findings } = await claimantsOf(ports, declaration, attempts)

  const naming = namingKey(state, claimants)
  const terminal = new Set(jobs.flatMap(({ covers }) => covers.terminal ?? []))
  const waits = new Map(jobs.flatMap(({ covers }) => Object.entries(covers.waits)))
  const may = new Map<string | null, Claimant[]>()
  for (const value of values) {
    const possible: Claimant[] = []
    for (const each of claimants)
      if (
        each.reader === null ||
        (await ask('maybe', () => store.mayClaim(state, each.reader as StateReader, value))) === 'maybe'
      )
        possible.push(each)
    may.set(value, possible)
  }

  const seen: CoveredValue[] = []
  for (const value of values) {
    const possible = may.get(value) ?? []
    const claims = []
    for (const { job, reader } of possible) {
      const rows = reader?.key && (await ask(false, () => store.claims(state, reader, value)))
      const tried = !rows && reader && (await ask(false, () => store.wouldClaim(state, [reader], value, trials)))
      claims.push({
        job: job.name,
        proof: rows ? 'rows' : tried ? 'trial' : 'unknown',
        clock: reader?.clock ?? true,
        others: reader?.others ?? [],
      } as const)
    }
    const asked: string[] = []
    for (const { job, reader } of neighbours)
      if ((await ask('never', () => store.mayClaim(state, reader, value))) === 'maybe') asked.push(job.name)
    const isTerminal = terminal.has(value)
    const unclaimed = isTerminal ? null : await ask(null, () => unclaimedRows(ports, state, possible, value, naming))
    seen.push({
      value,
      terminal: isTerminal,
      claims,
      waits: value === null ? null : (waits.get(value) ?? null),
      asked,
      unclaimed,
    })
  }

  const shared = await sharedRows(ports, state, { claimants, may, seen, trials }, attempts)
  const isStranger = (value: string | null): value is string => value !== null && !values.includes(value)
  const others = [...new Set(claimants.flatMap(({ reader }) => reader?.others ?? []))]
  const column = {
    table: `${state.schema}.${state.table}`,
    column: state.column,
    shown,
    jobs: jobs.map(({ job, covers }) => ({ job: job.name, terminal: covers.terminal })),
    from,
    bounded,
    values: seen,
    strangers: [...terminal].filter(isStranger),
    waitStrangers: [...waits.keys()].filter(isStranger),
    workers: Object.fromEntries(others.map((table) => [table, workersOn(ports.jobs, table, claimants, neighbours)])),
    shared,
  }
  return { column, findings }
}

/** Jobs that name the table in their pending query and claim nothing of the covered one. */
function workersOn(
  jobs: readonly Job[],
  table: string,
  claimants: readonly Claimant[],
  neighbours: readonly Neighbour[],
) {
  const own = new Set([...claimants, ...neighbours].map(({ job }) => job))
  const name = table.slice(table.indexOf('.') + 1)
  return jobs.filter((job) => !own.has(job) && mentions(job, name)).map((job) => job.name)
}

/** Rows without a state are a state of their own, where the column allows them. */
async function hasStateless(
  store: Coverage,
  state: StateColumn,
  values: readonly (string | null)[],
  ask: (fallback: boolean, question: () => Promise<boolean>) => Promise<boolean>,
): Promise<boolean> {
  if (!state.nullable || values.includes(null)) return false
  return ask(false, async () => (await store.unclaimed(state, [], null, [], 1)).keys.length > 0)
}

/** Null: one of those that may claim it cannot be held against rows. */
async function unclaimedRows(
  { proving, source }: ProvingPorts,
  state: StateColumn,
  possible: readonly Claimant[],
  value: string | null,
  naming: readonly string[],
): Promise<RowSample | null> {
  if (possible.some(({ key }) => key === null)) return null
  const readers = possible.flatMap(({ reader }) => reader ?? [])
  const own = possible.filter(({ reader }) => reader === null)
  const key = own[0]?.key ?? naming
  const found = await proving.unclaimed(state, readers, value, key, rowsMax)
  const [first, ...rest] = own
  if (!first) return sample(found)
  let left = found.keys
  for (const { job } of [first, ...rest]) {
    const keys = left.map((parts) => job.key.join(parts))
    const { pending } = keys.length === 0 ? { pending: new Map() } : await checked(source(job), job, keys)
    left = left.filter((_, i) => !pending.has(keys[i] as string))
  }
  return sample({ keys: left, more: found.more && left.length > 0 })
}

/** What the user's own code throws is no answer, and not the end of the others. */
async function checked(source: Source, job: Job, keys: readonly string[]) {
  try {
    const answer = await source.check(keys)
    for (const error of answer.broken?.values() ?? []) throw error
    return answer
  } catch (error) {
    if (error instanceof RegrowError) throw error
    throw new RegrowError('bad_pending', `Job "${job.name}": isPending failed: ${messageOf(error)}`, 'Mend it.', error)
  }
}

async function sharedRows(
  { proving }: ProvingPorts,
  state: StateColumn,
  { claimants, may, seen, trials }: Claims,
  attempts: Attempts,
): Promise<CoveredColumn['shared']> {
  const shared: CoveredColumn['shared'][number][] = []
  const able = claimants.filter(({ reader, key }) => reader !== null && key !== null)
  for (const [i, a] of able.entries())
    for (const b of able.slice(i + 1)) {
      // Two jobs that nobody declared are none of this column's business.
      if (!a.declared && !b.declared) continue
      if (![...may.values()].some((possible) => possible.includes(a) && possible.includes(b))) continue
      const readers = [a.reader as StateReader, b.reader as StateReader] as const
      const key = namingKey(state, [a, b])
      const none: StateRows = { keys: [], more: false }
      const found = await attempts.ask(shownColumn(state), none, () => proving.shared(state, readers, key, rowsMax))
      const declared = a.declared && b.declared
      const pair = { jobs: [a.job.name, b.job.name], rows: sample(found), declared } as const
      if (found.keys.length > 0) shared.push(pair)
      else if (declared) {
        // Nothing is there, as in a test: then rows that might be are tried.
        const both = seen.filter(({ claims }) => pair.jobs.every((job) => claims.some((claim) => isSure(claim, job))))
        for (const { value } of both)
          if (await attempts.ask(shownColumn(state), false, () => proving.wouldClaim(state, readers, value, trials))) {
            shared.push({ ...pair, tried: { value } })
            break
          }
      }
    }
  return shared
}

const isSure = ({ job, proof }: CoveredValue['claims'][number], name: string) => job === name && proof !== 'unknown'

/** Who may claim what. */
interface Claims {
  readonly claimants: readonly Claimant[]
  readonly may: ReadonlyMap<string | null, readonly Claimant[]>
  readonly seen: readonly CoveredValue[]
  readonly trials: readonly TrialRow[]
}

/** The columns that name a row to a person: a job's key, as `regrow why` takes it. */
const namingKey = (state: StateColumn, claimants: readonly Claimant[]) =>
  claimants.find(({ declared, key }) => declared && key)?.key ??
  (state.key.length > 0 ? state.key : state.columns.slice(0, 1).map(({ name }) => name))

const sample = ({ keys, more }: StateRows): RowSample => ({
  count: keys.length,
  more,
  keys: keys.slice(0, keysShown).map((parts) => (parts.length === 1 ? (parts[0] as string) : JSON.stringify(parts))),
})
