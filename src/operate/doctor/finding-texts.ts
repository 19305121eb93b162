// Every code of a finding, and why it matters: one sentence each, the same wherever it is found. docs/doctor.md has them all.
import type { FindingCode } from '../findings.ts'

/** What the doctor finds by itself. */
const own = {
  not_examined: 'What nobody looked at may be wrong, and a check that passes for that reason is worth nothing.',
  declaration_refused: 'An app with mistakes in its declarations does not start: nothing is enqueued, swept or run.',
  pending_refused:
    'No worker runs this job: a query that gives wrong answers, or reads everything for one key, is refused at the start.',
  index_missing:
    'Every sweep and every check reads these rows again. It is quick while the table is small, and an outage when it is not.',
  index_invalid: 'A build that failed left it behind: it costs every write, and no query uses it.',
  reads_much: 'Every sweep and every check reads these rows again, and no index could be named that would spare it.',
  stats_missing: 'Without statistics the planner guesses, and a plan that may flip will flip.',
  source_own: 'What functions of yours read cannot be explained here: see to it yourself that they are quick.',
  read_only: 'The database is the truth, and a copy of it is late: it would show rows that are done, and take nothing.',
  schema_old: 'This code works on tables of its own version and of the one before; on older ones it does not start.',
  schema_unknown: 'No process starts on tables of which nobody knows the version.',
  schema_new: 'The tables are newer than this code: fine during a deploy, and a sign of a forgotten process after it.',
  server_old: 'regrow is tested on Postgres 14 and newer; older servers lack what its statements use.',
  rights_missing: 'A worker that connects as this user fails at its first statement on these tables.',
  pooler:
    'Through a pooler nothing can be listened to, and statements are not prepared: idle workers look once a second, and each statement is planned anew.',
  pool_small: 'Beat, settle, checks, pages and the queue want connections at the same time, and each ctx.tx one more.',
  connections_few:
    'A worker that gets no connection beats late, is taken for dead, and its work starts again elsewhere.',
  clock_skew:
    "Worker clocks decide nothing in regrow, the database's does. But log lines cannot be compared, and dates that your code makes (`at`, `run_at`) mean another instant.",
  queue_evicts:
    'A server that runs full throws hints away without a word. Nothing is lost, but their work waits for the next sweep.',
  queue_memory: 'When the memory is full, hints are refused or thrown away, and their work waits for the next sweep.',
  queue_old: 'Its version lacks commands that the scripts of this queue use.',
  queue_bloat: 'Pops read past what vacuum could not remove, and become slower.',
  queue_polls: 'Idle workers are not told of a push: work that is enqueued starts up to a second later.',
  queue_not_shared: "Each process has a queue of its own: what one enqueues another's workers find by their own sweep.",
  guard_none:
    'No claims and no memory of failures: a key may run twice at the same time, and one that fails runs at every sweep.',
  job_unknown: 'They are of a job that is gone, or whose workers are: nobody runs, retries or forgets them.',
  declarations_differ:
    'Which rows are pending depends on who asks: hints of one are dropped by the check of the other.',
  leases_differ:
    'A dead worker is noticed after its own lease: work of one with a longer lease waits longer than this app was told.',
  declaration_undeployed:
    'What runs is not what this app declares: a changed pending query takes effect when the old workers are gone.',
} as const satisfies Record<string, string>

/** What `operate(app).health()` finds, too. */
const ofHealth: Readonly<Record<FindingCode, string>> = {
  sweep_missing: 'The sweep is the guarantee: without it a row whose hint was lost never runs.',
  sweep_never: 'The sweep is the guarantee: without it a row whose hint was lost never runs.',
  sweep_late: 'The sweep is the guarantee: without it a row whose hint was lost never runs.',
  sweep_failing: 'The sweep is the guarantee: without it a row whose hint was lost never runs.',
  key_unusable:
    'Neither queue nor ledger can hold such a key, or the query fails for the row: it is work that nobody will ever do.',
  no_worker: 'Hints and rows wait, nobody sweeps, and no schedule makes a slot.',
  no_handler: 'Its hints wait, its rows wait, and nobody sweeps them.',
  queue_down: 'Each worker sweeps for itself meanwhile, and work starts later than it could.',
  queue_unseen: 'It may be dead for hours, and this check would still find nothing wrong.',
  queue_lost:
    'Nothing is lost with it, but a queue that is emptied again and again keeps everybody busy with filling it.',
  heal_late: 'Work without a hint waits for the pass that brings it back.',
  claims_unowned: 'Nobody else may start these keys until somebody frees them.',
  paused: 'Nothing of this job starts.',
  pause_old: 'A pause that was forgotten looks like work that nobody does.',
  pause_grows: 'All of it starts when the job is resumed.',
  quarantined: 'They failed for good, and wait for a person.',
  no_progress: 'The same row runs again and again, and each run looks like a success.',
  slots_stuck: 'The process does less than it could, and at half of its slots asks to be started anew.',
  waiting_long: 'More comes than is done.',
  schedule_late: 'What recurs is missed most quietly: nobody waits for it.',
  schedule_absent: 'Its instants pass, and what becomes of them is decided when somebody has it again.',
  schedule_missing: 'What recurs is missed most quietly: its instants pass, and no row tells of them.',
  pulse_missing: 'Keys of a worker that died stay claimed, and slots without a hint wait.',
  rows_damaged: 'A statement over many rows fails for all of them because of one such row.',
  clock_back: 'What your own code dated by the clock that was ahead, as `run_at`, is still of that time.',
}

export type DoctorCode = keyof typeof own | FindingCode

/** Why each finding matters, by code. */
export const whys: Readonly<Record<DoctorCode, string>> = { ...own, ...ofHealth }
