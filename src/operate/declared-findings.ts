// Findings of what the store should hold and does not, compared with what live workers declare: sweeps, schedules, the pulse; and of a
// clock that was set back. A part of findings.ts. Pure.
import { readable } from '../base/duration.ts'
import { groupBy } from '../base/group-by.ts'
import type { DamagedRow } from '../store/repair.ts'
import type { WorkerRow } from '../store/status.ts'
import type { StaleSchedule } from '../store/timetable.ts'
import { age, ago, recentMs } from './ages.ts'
import type { Finding, State } from './findings.ts'

/** A worker declares its jobs right after it registers, and again within a second where they are missing. */
const declaringMs = 10_000

export function ofPulse({ pulse, workers, at }: State): Finding[] {
  const found: Finding[] = []
  const lost = pulse.missing && workers.some(({ live, startedAt }) => live && age(startedAt, at) > declaringMs)
  if (lost)
    found.push({
      level: 'bad',
      code: 'pulse_missing',
      job: null,
      message: 'The table regrow.pulse is empty: dead workers are not freed, and schedules are not audited',
      hint: 'Each beat makes its row again: if this stays, workers of an older version are all that live, or they may not insert into it.',
    })
  const { setBack } = pulse
  if (setBack && age(setBack.at, at) <= recentMs)
    found.push({
      level: 'warn',
      code: 'clock_back',
      job: null,
      message: `The database's clock was set back by ${readable(setBack.byMs)}, ${ago(setBack.at, at)}`,
      hint: 'Sweeps, schedules, audits and freeing go on by the new time. Let the server keep time by NTP, and check rows that your own code dated meanwhile.',
    })
  return found
}

/** Rows that somebody else wrote to, or a disk. */
export function ofDamaged(damaged: readonly DamagedRow[]): Finding[] {
  return [...groupBy(damaged, ({ table }) => table)].map(([table, rows]) => ({
    level: 'bad',
    code: 'rows_damaged',
    job: null,
    message: damagedText(table, rows),
    hint: 'A worker puts them right within a minute, and tells it by store.repaired. If this stays, no worker lives, or the rows are locked. Find out who else writes to these tables.',
  }))
}

/** Which rows of a table are damaged, in one line. */
export function damagedText(table: string, rows: readonly DamagedRow[]): string {
  const named = rows.slice(0, 5).map(({ row }) => row)
  const more = rows.length > named.length ? ' and others' : ''
  return `The table regrow.${table} has ${rows.length === 1 ? 'a row' : 'rows'} that regrow never wrote like this, with an instant without end or a number out of range: ${named.join(', ')}${more}`
}

/** What live workers declare and the store does not hold: its table was emptied, or restored from before. */
export function undeclared(job: string, { at, workers }: State): Finding[] {
  const has = ({ live, jobs, startedAt }: WorkerRow) => live && jobs.includes(job) && age(startedAt, at) > declaringMs
  if (!workers.some(has)) return []
  const message = `${job}: live workers have it, and the store has no sweep of it: rows that nobody enqueued do not run`
  const hint = `They declare it again within a second: if this stays, look at their logs for loop.failed of the loop sweep. \`regrow sweep ${job}\` declares it, too.`
  return [{ level: 'bad', code: 'sweep_missing', job, message, hint }]
}

/** A schedule that should run and does not. */
export function ofSchedule({ name, job, why, since, endsAt }: StaleSchedule, at: Date): Finding {
  if (why === 'undeclared')
    return {
      level: 'bad',
      code: 'schedule_missing',
      job,
      message: `The schedule ${name} is declared by live workers, and the store has none of that name: it does not run`,
      hint: 'They declare it again within a quarter of a minute: if this stays, look at their logs for loop.failed of the loop schedules.',
    }
  if (why === 'absent') {
    const end = endsAt ? `, and ends in ${readable(Math.max(0, -age(endsAt, at)))} if that stays so` : ''
    return {
      level: 'warn',
      code: 'schedule_absent',
      job,
      message: `The schedule ${name} makes no new slots: no live worker has its job${end}`,
      hint: `Start a worker that has it, or end it: regrow schedules end ${name} --yes`,
    }
  }
  const what = why === 'late' ? `its slot was due ${ago(since, at)}` : `no slot waits, the last was ${ago(since, at)}`
  return {
    level: 'bad',
    code: 'schedule_late',
    job,
    message: `The schedule ${name} stands still: ${what}`,
    hint: `regrow schedules show ${name} tells its slots; are its workers full, or do their logs have loop.failed of "schedules"?`,
  }
}
