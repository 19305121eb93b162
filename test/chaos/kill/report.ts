// The figures of a run and whether they are as promised: lost 0, doubled 0, quarantined exactly the poison keys.
import type pg from 'pg'
import type { Crew } from '../../processes/crew.ts'
import type { FaultCounts } from '../faults.ts'
import { poison as poisonKeys } from './jobs.ts'
import type { Notes, Verdict } from './oracle.ts'

interface Reported {
  readonly verdict: Verdict
  readonly notes: Notes
  readonly crew: Crew
  readonly counts: FaultCounts
  readonly quiet: boolean
  readonly quietMs: number
  readonly poison: boolean
  readonly client: pg.Client
}

/** Prints the report; answers true when something is not as promised. */
export async function report({
  verdict,
  notes,
  crew,
  counts,
  quiet,
  quietMs,
  poison,
  client,
}: Reported): Promise<boolean> {
  const planned = await client.query(`select count(*) + coalesce(sum(fails), 0) as n from expected`)
  const healthy = verdict.quarantined.filter((each) => !each.poison)
  const poisoned = verdict.quarantined.filter((each) => each.poison)
  const lines: [string, number, string][] = [
    ['expected', verdict.expected, ''],
    ['done', verdict.done, ''],
    ['lost', verdict.lost.length, some(verdict.lost)],
    ['doubled effects', verdict.doubled.length, some(verdict.doubled)],
    ['unexpected effects', verdict.unexpected.length, some(verdict.unexpected)],
    ['starts', notes.starts, `${count(notes.starts - Number(planned.rows[0].n))} more than without faults`],
    ['quarantined poison', poisoned.length, poisoned.map(({ job, key }) => `${job} ${key}`).join(', ')],
    ['quarantined healthy', healthy.length, some(healthy.map(({ job, key, why }) => `${job} ${key}: ${why}`))],
    ['kill -9', counts.kills, ''],
    ['SIGSTOP', counts.stops, ''],
    ['SIGTERM', counts.terms, counts.missed > 0 ? `${counts.missed} faults found nobody working` : ''],
    ['crashes by handler', crew.crashes, [...notes.poisonStarts].map(([key, n]) => `${key}: ${n} starts`).join(', ')],
    ['processes started', crew.started, some(crew.surprises)],
    [
      'freed claims',
      notes.freedKeys,
      `of ${count(notes.freedWorkers)} workers; ${count(notes.gone)} woke up and found themselves gone`,
    ],
    ['results discarded', notes.leaseLost, 'lease lost'],
    ['rows left in ledger', verdict.leftovers, 'of keys that are done'],
    ['claims left behind', verdict.claimsLeft, `${verdict.workersLeft} workers left`],
  ]
  console.log('')
  for (const [name, value, more] of lines)
    console.log(`${name.padEnd(20)}${count(value).padStart(10)}  ${more}`.trimEnd())
  for (const { job, key, why } of verdict.quarantined) console.log(`quarantined ${job} ${key}: ${why.split('\n')[0]}`)
  const failures = [...notes.failed].sort(([, a], [, b]) => b - a).slice(0, 8)
  for (const [what, times] of failures) console.log(`loops: ${times} × ${what}`)
  const wrong = [
    verdict.lost.length > 0 && 'work was lost',
    verdict.doubled.length > 0 && 'effects were doubled',
    verdict.unexpected.length > 0 && 'rows that were never committed had an effect',
    healthy.length > 0 && 'healthy keys were quarantined',
    poison && poisoned.length !== Object.keys(poisonKeys).length && 'not every poison key was quarantined',
    verdict.claimsLeft > 0 && 'claims were left behind',
    crew.surprises.length > 0 && 'workers ended by themselves',
    !quiet && 'the workers did not come to an end in time',
  ].filter((each) => each !== false)
  console.log(`\nquiet ${(quietMs / 1_000).toFixed(1)} s after the last fault`)
  console.log(
    wrong.length > 0 ? `FAILED: ${wrong.join('; ')}` : 'ok: nothing lost, nothing doubled, only poison in quarantine',
  )
  return wrong.length > 0
}

const count = (value: number) => value.toLocaleString('en')
const some = (items: readonly string[]) => (items.length > 8 ? `${items.slice(0, 8).join(', ')}, …` : items.join(', '))
