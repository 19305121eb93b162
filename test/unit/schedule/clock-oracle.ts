// What a schedule should do, found the slow way: walk every minute of a few days, ask Intl what the clocks show, and
// fire. It shares nothing with src/schedule: no search, no offsets, no cron parser.

const MINUTE_MS = 60_000

/** Four days around a shift of a zone's clocks, minute by minute. */
export interface Walk {
  readonly zone: string
  readonly fromMs: number
  /** What the clocks show at each minute, as minutes since 1970 of a calendar without zones. */
  readonly shown: readonly number[]
  /** By how many minutes the clocks jumped, in order. */
  readonly jumps: readonly number[]
}

export function walk(zone: string, day: string): Walk {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
  const fromMs = Date.parse(`${day}T00:00:00Z`) - 2 * 24 * 60 * MINUTE_MS
  const shown: number[] = []
  for (let i = 0; i < 4 * 24 * 60; i++) {
    const [date, time] = format.format(fromMs + i * MINUTE_MS).split(' ')
    shown.push(Date.parse(`${date}T${time}:00Z`) / MINUTE_MS)
  }
  const jumps = shown.flatMap((each, i) =>
    i > 0 && each !== (shown[i - 1] as number) + 1 ? [each - (shown[i - 1] as number) - 1] : [],
  )
  return { zone, fromMs, shown, jumps }
}

/** A cron by its meaning: which minutes and hours, and which days of the calendar. */
export interface Meaning {
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  onDay(date: Date): boolean
}

function fits(meaning: Meaning, minute: number): boolean {
  if (!meaning.minutes.has(minute % 60) || !meaning.hours.has(Math.floor(minute / 60) % 24)) return false
  return meaning.onDay(new Date(minute * MINUTE_MS))
}

/** The instants of the walk, but for its first day (what the clocks showed before it is not known). */
export function fires({ fromMs, shown }: Walk, meaning: Meaning): number[] {
  const fired: number[] = []
  let latest = (shown[0] as number) - 1
  for (const [i, minute] of shown.entries()) {
    let due = false
    if (meaning.hours.size === 24) due = fits(meaning, minute)
    else for (let passed = latest + 1; passed <= minute && !due; passed++) due = fits(meaning, passed)
    latest = Math.max(latest, minute)
    if (due && i >= 24 * 60) fired.push(fromMs + i * MINUTE_MS)
  }
  return fired
}

/** Zones, days on which their clocks shifted, and by how many minutes. */
export const SHIFTS: readonly (readonly [string, string, number])[] = [
  ['America/New_York', '2024-03-10', 60],
  ['America/New_York', '2024-11-03', -60],
  ['Europe/Berlin', '2024-03-31', 60],
  ['Europe/Berlin', '2024-10-27', -60],
  ['Australia/Lord_Howe', '2024-04-06', -30],
  ['Australia/Lord_Howe', '2024-10-05', 30],
  ['Pacific/Apia', '2011-12-30', 24 * 60],
  ['Pacific/Kwajalein', '1993-08-21', 24 * 60],
  ['America/Sao_Paulo', '2018-11-04', 60],
  ['America/Sao_Paulo', '2018-02-18', -60],
  ['Africa/Casablanca', '2024-03-10', -60],
  ['Africa/Casablanca', '2024-04-14', 60],
  ['Asia/Beirut', '2024-03-30', 60],
  ['Asia/Beirut', '2024-10-26', -60],
  ['Asia/Tehran', '2022-03-21', 60],
  ['Asia/Tehran', '2022-09-21', -60],
  ['America/Havana', '2024-03-10', 60],
  ['America/Havana', '2024-11-03', -60],
  ['Antarctica/Troll', '2024-03-31', 120],
  ['Antarctica/Troll', '2024-10-27', -120],
  ['Pacific/Chatham', '2024-04-06', -60],
  ['Pacific/Chatham', '2024-09-28', 60],
  ['Africa/Cairo', '2023-04-27', 60],
  ['Africa/Cairo', '2023-10-26', -60],
  ['Asia/Gaza', '2022-03-26', 60],
  ['Asia/Gaza', '2022-10-28', -60],
  ['America/St_Johns', '2006-04-02', 60],
  ['America/St_Johns', '2006-10-29', -60],
  ['America/Caracas', '2016-05-01', 30],
  ['Asia/Pyongyang', '2018-05-04', 30],
  ['Europe/Dublin', '2024-10-27', -60],
  ['Asia/Kathmandu', '2024-03-10', 0],
]
