// What a long command shows while it runs, and how it ends on Ctrl-C. On a terminal one line that is written over, elsewhere a
// plain line every few seconds, both on standard error; with --json nothing. In: how far it has come. Out: its result, and
// whether a signal cut it short.

import { readable } from '../base/duration.ts'
import { RegrowError } from '../index.ts'
import type { Progress, ProgressOptions } from '../operate/index.ts'
import type { Cli } from './command.ts'
import { visible } from './output.ts'

/** Between two lines: what a terminal shows well, and what a log is not filled by. */
const everyMs = { terminal: 100, plain: 5_000 }
/** The rate is that of the last seconds: a pass that is ramped, or waits, is not as fast as it was. */
const rateOverMs = 10_000

/** What a long call is given: where it tells its progress, and when it is to stop. */
export type Long = Required<ProgressOptions>

/** What came of a long call. `stopped`: a signal ended it before its end. */
export interface LongEnd<T> {
  readonly value: T
  readonly stopped: boolean
}

/**
 * Runs `work` and shows how far it is. The first signal asks it to end at its next page; the second does not wait for that.
 * A command that was stopped answers `exitCodes.stopped`.
 */
export async function showingProgress<T>({ around, out }: Cli, work: (long: Long) => Promise<T>): Promise<LongEnd<T>> {
  const leaving = new AbortController()
  const meter = new Meter(around.now())
  const terminal = out.json ? undefined : around.errorScreen()
  let shownAt = around.now()
  let drawn = false
  const clear = () => {
    if (drawn) around.complain('\r\u001b[K')
    drawn = false
  }
  const show = (progress: Progress) => {
    const now = around.now()
    const line = meter.line(progress, now)
    if (out.json || now - shownAt < (terminal ? everyMs.terminal : everyMs.plain)) return
    shownAt = now
    if (!terminal) return out.note(line)
    around.complain(`\r${line.slice(0, terminal.columns - 1)}\u001b[K`)
    drawn = true
  }
  const atOnce = new Promise<never>((_, reject) =>
    around.onSignal(['SIGINT', 'SIGTERM'], (signal) => {
      if (leaving.signal.aborted) return reject(stoppedAtOnce())
      leaving.abort()
      clear()
      if (!out.json) out.note(`${signal}: stopping at the next page. Once more: at once`)
    }),
  )
  try {
    const value = await Promise.race([work({ onProgress: show, signal: leaving.signal }), atOnce])
    return { value, stopped: leaving.signal.aborted }
  } finally {
    clear()
  }
}

const stoppedAtOnce = () =>
  new RegrowError('stopped', 'Stopped at once', 'What was done until then stays done; nothing is half done.')

/** Counts, and how fast they grow. */
export class Meter {
  #what: string | undefined
  #seen: { readonly at: number; readonly done: number }[] = []
  #begunAt: number

  constructor(now: number) {
    this.#begunAt = now
  }

  /** One line: count, rate, and when it is likely to be over. */
  line({ what, done, total }: Progress, now: number): string {
    if (what !== this.#what) {
      // The first page of a new count took its time, too.
      const [last] = this.#seen.slice(-1)
      this.#seen = [{ at: this.#what === undefined ? this.#begunAt : (last?.at ?? now), done: 0 }]
      this.#what = what
    }
    this.#seen.push({ at: now, done })
    while (this.#seen.length > 2 && now - (this.#seen[1]?.at as number) >= rateOverMs) this.#seen.shift()
    const first = this.#seen[0] as { at: number; done: number }
    const rate = now > first.at ? ((done - first.done) * 1_000) / (now - first.at) : 0
    const count = total === null || total < done ? counted(done) : `${counted(done)} of ${counted(total)}`
    const left = total === null || total <= done || rate <= 0 ? null : ((total - done) * 1_000) / rate
    return [
      `${visible(what)}: ${count}`,
      ...(rate > 0 ? [`${counted(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate))}/s`] : []),
      ...(left === null ? [] : [`about ${readable(Math.max(1_000, Math.round(left / 1_000) * 1_000))} left`]),
    ].join(', ')
  }
}

/** With commas: 1,250,000. */
const counted = (count: number) => count.toLocaleString('en-US')
