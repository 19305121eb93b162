// A schedule as the store tells of it, for tests of what is decided about one.
import type { ScheduleRow } from '../../../src/store/schedules.ts'

/** One that stands by itself: of each minute, in its first version, with nothing open. */
export const scheduleRow = (how: Partial<ScheduleRow> = {}): ScheduleRow => ({
  ...{ name: 's', job: 's', lane: 's', cron: null, everyMs: 60_000, tz: 'UTC', startAtMs: null, endAtMs: null },
  ...{
    jitterMs: 0,
    key: null,
    input: null,
    declared: true,
    live: true,
    ran: [],
    paused: false,
    jobPaused: false,
    handedMs: null,
  },
  ...{ version: 1, term: 1, missed: 'once', overlap: 'skip', fromMs: 0, lastSlotMs: null, open: [] },
  ...how,
})
