// Decides what of a covered column a person should know. Pure: in, what was seen; out, findings with what to do.
import { nearest } from '../../base/suggest.ts'
import type { DoctorFinding } from '../doctor/finding.ts'
import { type CoveredColumn, type CoveredValue, type RowSample, shownValue } from './report.ts'

type Finding = Omit<DoctorFinding, 'fix' | 'job'> & Partial<DoctorFinding>

export function findingsOf(column: CoveredColumn): DoctorFinding[] {
  const found: Finding[] = [
    ...column.values.flatMap((value) => (value.terminal ? finished(column, value) : unfinished(column, value))),
    ...column.strangers.flatMap((value) => stranger(column, value)),
    ...column.waitStrangers.flatMap((value) => waitStranger(column, value)),
    ...differing(column),
    ...column.shared.map((pair) => shared(column, pair)),
    ...bounded(column),
  ]
  return found.map((finding) => ({ job: null, fix: null, ...finding }))
}

function unfinished({ shown, jobs, bounded, values, workers }: CoveredColumn, value: CoveredValue): Finding[] {
  const { claims, unclaimed } = value
  const name = `${shown}: ${shownValue(value.value)}`
  const rows = unclaimed && unclaimed.count > 0 ? unclaimed : null
  if (value.waits !== null && (rows || claims.length === 0)) return [waitsOnPurpose(name, value.waits, rows)]
  if (claims.length === 0 && value.asked.length > 0) return [askedElsewhere(name, value, rows)]
  if (claims.length === 0)
    return [
      {
        level: 'bad',
        code: 'state_unclaimed',
        message: `${name} is neither terminal nor claimed by any job${rows ? `; ${listed(rows)}` : ''}`,
        why: 'A row in that state waits for ever: no pending query returns it, so no sweep will find it.',
        hint: 'Let a pending query return it, or name it in `terminal` if nothing is to be done any more, in `waits` if its rows wait for something else.',
      },
    ]
  const sure = claims.filter(({ proof }) => proof !== 'unknown')
  const by = claims.map(({ job }) => job).join(', ')
  if (rows && claims.some(({ clock }) => clock))
    return [
      {
        level: 'note',
        code: 'rows_not_yet',
        message: `${name}: no pending query returns ${listed(rows)} now; ${by} may later, by the clock`,
        why: 'A query that asks for the time finds a row when its time has come. Whether it will, cannot be proven.',
        hint: 'Return the time as `run_at` instead of asking for it: then such rows are found, and known to be.',
      },
    ]
  if (rows && claims.some(({ others }) => others.length > 0)) return [waitsForOthers(name, value, rows, workers)]
  if (rows)
    return [
      {
        level: 'bad',
        code: 'rows_unclaimed',
        message: `${name}: no pending query returns ${listed(rows)}`,
        why: `${by} ${claims.length === 1 ? 'claims' : 'claim'} that state, but asks more of a row than these have; nobody will find them.`,
        hint: '`regrow why <job> <key>` shows the condition that fails. Widen the query, or give these rows a state of their own.',
      },
    ]
  if (sure.length === 0)
    return [
      {
        level: 'note',
        code: 'state_unknown',
        message: `${name}: it is not known whether ${by} ${claims.length === 1 ? 'claims' : 'claim'} it`,
        why: 'No row has that state, and the query asks more of a row than could be tried; nothing says that it does not.',
        hint: 'In a test, expectCoverage(app, { rows }) tries rows that you give.',
      },
    ]
  const declared = new Set(jobs.map(({ job }) => job))
  if (sure.some(({ job }) => declared.has(job)) || bounded) return []
  // One that returns rows in every state asks for something else: it moves none of them on.
  const isBlind = (job: string) => values.every((each) => each.claims.some((claim) => claim.job === job))
  return [
    {
      level: sure.every(({ job }) => isBlind(job)) ? 'warn' : 'note',
      code: 'claim_undeclared',
      message: `${name} is claimed by ${sure.map(({ job }) => job).join(', ')} alone, which does not cover the column`,
      why: 'A job that reads all rows for another reason would hide a state that nobody moves on.',
      hint: `Add \`covers\` to it, if that is the job that moves these rows on.`,
    },
  ]
}

function waitsOnPurpose(name: string, reason: string, rows: RowSample | null): Finding {
  return {
    level: 'note',
    code: 'state_waits',
    message: `${name} waits for something else: ${reason}${rows ? `; ${listed(rows)}` : ''}`,
    why: 'No pending query has to return such rows. Whether what they wait for comes, cannot be proven.',
    hint: 'Nothing, as long as the reason in `waits` is true.',
  }
}

/** No query returns these rows by their own key, but another row's does for their sake. */
function askedElsewhere(name: string, { value, asked }: CoveredValue, rows: RowSample | null): Finding {
  const [by, asks] = [asked.join(', '), asked.length === 1 ? 'asks' : 'ask']
  return {
    level: 'warn',
    code: 'state_asked_elsewhere',
    message: `${name} is claimed by no job itself; ${by} ${asks} for such rows in a join or subquery, for the sake of rows of another table${rows ? `; ${listed(rows)}` : ''}`,
    why: 'That job may move them on; a row that it does not reach waits for ever.',
    hint: `If they wait for that, say so: covers: { …, waits: { ${shownValue(value)}: '…' } }. Else let a pending query return them.`,
  }
}

/** The query asks other tables, too: these rows may fit when a row there changes. */
function waitsForOthers(
  name: string,
  { value, claims }: CoveredValue,
  rows: RowSample,
  workers: CoveredColumn['workers'],
): Finding {
  const joined = claims.filter(({ others }) => others.length > 0)
  const tables = [...new Set(joined.flatMap(({ others }) => others))]
  const bringing = [...new Set(tables.flatMap((table) => workers[table] ?? []))]
  const by = joined.map(({ job }) => job).join(', ')
  const work = bringing.length === 1 ? 'works' : 'work'
  return {
    level: 'warn',
    code: 'rows_waiting',
    message: `${name}: no pending query returns ${listed(rows)} now; ${by} also ${joined.length === 1 ? 'asks' : 'ask'} ${tables.map(withoutPublic).join(', ')}, and may return them when a row there changes${bringing.length > 0 ? ` (${bringing.join(', ')} ${work} on that)` : ''}`,
    why: 'With a join or a subquery a row is pending only when rows of other tables fit. Whether they ever will, cannot be proven.',
    hint: `If they wait for that, say so: covers: { …, waits: { ${shownValue(value)}: '…' } }. Else widen the query; \`regrow why <job> <key>\` shows the condition that fails.`,
  }
}

const withoutPublic = (table: string) => table.replace(/^public\./, '')

function waitStranger({ shown, from }: CoveredColumn, value: string): Finding[] {
  // A text column without a list can have any value.
  if (from === 'rows') return []
  return [
    {
      level: 'warn',
      code: 'waits_unknown',
      message: `${shown} cannot be ${shownValue(value)}, which \`waits\` names`,
      why: 'A value that is spelt otherwise excuses nothing.',
      hint: 'Write it as the column does, or take it out of `waits`.',
    },
  ]
}

function finished({ shown, jobs }: CoveredColumn, { value, claims }: CoveredValue): Finding[] {
  const declared = new Set(jobs.map(({ job }) => job))
  return claims
    .filter(({ job, proof }) => proof !== 'unknown' && declared.has(job))
    .map(({ job }) => ({
      level: 'warn',
      code: 'terminal_claimed',
      job,
      message: `${shown}: ${shownValue(value)} is called terminal, and ${job} claims it`,
      why: 'Either the work of such a row is not over, or the query returns rows that are done.',
      hint: `Take it out of \`terminal\`, or out of the pending query of ${job}.`,
    }))
}

function stranger({ shown, from, values, bounded }: CoveredColumn, value: string): Finding[] {
  const others = values.filter((each) => !each.terminal)
  // What nobody claims was probably meant.
  const guess = [others.filter(({ claims }) => claims.length === 0), others]
    .map((list) =>
      nearest(
        value,
        list.map((each) => each.value ?? ''),
      ),
    )
    .find((name) => name)
  // A text column without a list can have any value: only what looks like a slip is told.
  if (from === 'rows' && (guess === undefined || bounded !== null)) return []
  return [
    {
      level: 'warn',
      code: 'terminal_unknown',
      message: `${shown} ${from === 'rows' ? 'has no row with' : 'cannot be'} ${shownValue(value)}, which \`terminal\` names${guess ? `; did you mean ${shownValue(guess)}?` : ''}`,
      why: 'A value that is spelt otherwise ends nothing.',
      hint: guess ? `Write ${shownValue(guess)}.` : 'Take it out of `terminal`, or add it to the column.',
    },
  ]
}

function differing({ shown, jobs }: CoveredColumn): Finding[] {
  const said = jobs.filter((each) => each.terminal !== null)
  const text = (values: readonly (string | null)[] | null) => [...new Set(values)].map(shownValue).sort().join(', ')
  if (new Set(said.map(({ terminal }) => text(terminal))).size < 2) return []
  return [
    {
      level: 'warn',
      code: 'terminal_differs',
      message: `${shown}: jobs differ in what is terminal: ${said.map(({ job, terminal }) => `${job} says ${text(terminal) || 'nothing'}`).join('; ')}`,
      why: 'What one of them calls terminal counts for all.',
      hint: 'Say it in one of them and leave `terminal` out of the others, or say the same.',
    },
  ]
}

function shared({ shown }: CoveredColumn, { jobs, rows, declared, tried }: CoveredColumn['shared'][number]): Finding {
  const table = shown.slice(0, shown.lastIndexOf('.'))
  const what = tried ? `a row whose ${shown.slice(table.length + 1)} is ${shownValue(tried.value)}` : listed(rows)
  return {
    level: declared ? 'warn' : 'note',
    code: 'rows_shared',
    message: `${table}: ${jobs[0]} and ${jobs[1]} both claim ${what}`,
    why: 'Two handlers work on the same row, in any order and at the same time.',
    hint: declared
      ? 'Let their queries ask for different states; if it is meant, take `covers` out of one of them.'
      : 'If it is meant, nothing is to be done.',
  }
}

function bounded({ shown, bounded: why, values }: CoveredColumn): Finding[] {
  if (why === null) return []
  return [
    {
      level: 'note',
      code: 'states_bounded',
      message: `${shown}: ${values.length} values were looked at, there may be more: ${why}`,
      why: 'A value that was not seen is not known to be covered.',
      hint: 'Make it an enum, or give it a CHECK constraint: then its values are known. An index on the column helps, too.',
    },
  ]
}

const listed = ({ count, more, keys }: RowSample): string =>
  `${more ? `more than ${count}` : count} ${count === 1 && !more ? 'row' : 'rows'} (${keys.join(', ')}${count > keys.length || more ? ', …' : ''})`
