// What `operate(app)` gives: all that people and tools ask of an app. Their code is loaded by the first question.
import { lazyMethods } from '../base/lazy-methods.ts'
import type { CoverageOptions, CoverageReport } from '../operate/coverage/coverage.ts'
import type { DoctorOptions, DoctorReport } from '../operate/doctor/doctor.ts'
import type { ForgetOptions, ForgetReport } from '../operate/forget.ts'
import type { Health } from '../operate/health.ts'
import type { Pausing } from '../operate/pause.ts'
import type { Quarantine } from '../operate/quarantine.ts'
import type { SchedulesOfApp } from '../operate/schedules.ts'
import type { Status } from '../operate/status.ts'
import type { Why } from '../operate/why/why.ts'
import type { SweepOptions, SweepReport } from '../sweep/run-sweep.ts'
import type { DeclaredJob } from './app.ts'
import { loadOperator } from './on-demand.ts'
import type { Resources } from './resources.ts'

/**
 * Where an app keeps its operator. A symbol of the whole process: a command line that was installed beside the app finds the operator
 * of the app's own version.
 */
export const operatorKey: unique symbol = Symbol.for('regrow.operator')

/** What has an operator: an app. */
export interface Operable {
  /** What `operate(app)` of `regrow/operate` answers. */
  readonly [operatorKey]: Operator
}

/** What a person operates; of all jobs that the app declares, and of those that only regrow's tables name. */
export interface Operator extends Pausing {
  /** Brings regrow's tables up to date. */
  migrate(): Promise<{ from: number; to: number }>
  /** Every job of this app, in the order of declaration. */
  jobs(): readonly DeclaredJob[]
  /** The queue in use; one that is not shared lives and ends with this process. */
  queue(): Promise<{ name: string; shared: boolean }>
  /** How every job and worker stands, from regrow's tables. */
  status(): Promise<Status>
  /** `status`, judged: what is wrong, and what to do about it. Rejects when the store does not answer. */
  health(): Promise<Health>
  /**
   * Why a key does not run, what comes next and what to type. `key` as the job's handler gets it, or its text as lists print it.
   * Runs the pending query for that key; changes nothing.
   */
  why(job: string, key: unknown): Promise<Why>
  /** What every job's `covers` promises, held against the database: states and rows that no job would find. Reads only. */
  coverage(options?: CoverageOptions): Promise<CoverageReport>
  /**
   * What is wrong, or will be, with the database, the queue, the fleet and every pending query, and what to do. Explains and
   * runs the pending queries under a time limit; changes nothing. Rejects when the store does not answer.
   */
  doctor(options?: DoctorOptions): Promise<DoctorReport>
  /** Keys that failed for good. */
  readonly quarantine: Quarantine
  /** What recurs: schedules that jobs declare, and those made at run time. */
  readonly schedules: SchedulesOfApp
  /** Whole passes of some jobs now (all unless `jobs` says otherwise), or with `dryRun` what they would do. */
  sweep(options?: SweepOptions): Promise<SweepReport[]>
  /**
   * Forgets a job that was removed from the code: its sweep, pause, ledger rows and hints. Rejects with `job_in_use` while this app or a live
   * worker declares it, and with `job_has_work` when it has stored inputs or quarantined keys, unless `force` is given.
   */
  forget(job: string, options?: ForgetOptions): Promise<ForgetReport>
}

export function lazyOperator(resources: Resources): Operator {
  const load = async () => (await loadOperator()).makeOperator(resources)
  const methods = lazyMethods<Omit<Operator, 'jobs'>>(load, {
    ...{ queue: true, status: true, health: true, why: true, coverage: true, doctor: true },
    ...{ pause: true, resume: true, pauses: true, sweep: true, forget: true, migrate: true },
    quarantine: { list: true, count: true, errors: true, show: true, release: true, drop: true },
    schedules: {
      ...{
        add: true,
        list: true,
        show: true,
        next: true,
        pause: true,
        resume: true,
        end: true,
        remove: true,
        run: true,
      },
    },
  })
  return { ...resources.life.guard(methods), jobs: () => resources.declared }
}
