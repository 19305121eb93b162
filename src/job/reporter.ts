// What people read of an app without having asked: its warnings, at growing intervals where they repeat, and the lines of handlers.
import type { Clock } from '../base/clock.ts'
import { readable } from '../base/duration.ts'
import type { Events } from '../base/events.ts'
import { type Log, type LogOption, logTo } from '../base/log.ts'
import { Repeats } from '../base/repeats.ts'
import type { EventMap } from './event-map.ts'
import { type Warning, warningOf } from './warnings.ts'

export class Reporter {
  readonly #repeats: Repeats<Warning & { readonly event: string }>
  #write: Log
  #silent: boolean

  /** `isOutage`: an error that means that the store is away for now. */
  constructor(
    clock: Clock,
    events: Events<EventMap>,
    option: LogOption | undefined,
    isOutage: (error: unknown) => boolean,
  ) {
    this.#write = logTo(option)
    this.#silent = option === false
    this.#repeats = new Repeats(clock, ({ level, message, later, event, fields }, more, overMs) => {
      const said = overMs === null ? message : `${later ?? message} ${inTheLast(more, overMs)}`
      this.#write({ level, message: said, event, fields })
    })
    events.overhear((name, detail) => {
      const warning = this.#silent ? null : warningOf(name, detail as never, isOutage)
      if (warning) this.#repeats.tell(warning.kind, { ...warning, event: name }, warning.family)
    })
  }

  /** For the lines of handlers. */
  readonly log: Log = (record) => this.#write(record)

  /** Writes elsewhere from now on. */
  use(option: LogOption | undefined): void {
    if (option === undefined) return
    this.#write = logTo(option)
    this.#silent = option === false
  }

  /** Says now what was held back. */
  flush(): void {
    this.#repeats.flush()
  }
}

/** How often it happened before a line that comes later. */
const inTheLast = (more: number, overMs: number) =>
  `(${more === 0 ? '' : `and ${more} more like it `}in the last ${seconds(overMs)})`

const seconds = (ms: number) => readable(Math.max(1, Math.round(ms / 1_000)) * 1_000)
