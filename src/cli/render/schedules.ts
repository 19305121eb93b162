// Schedules as people read them: what recurs, how it stands, its slots, and instants by the clocks of its zone.

import { readable } from '../../base/duration.ts'
import type { HandedOver, ScheduleInfo, SlotInfo } from '../../operate/index.ts'
import { brief, type Column, fittedTable, type Output, visible } from '../output.ts'

/** Where no terminal says otherwise. */
const usualWidth = 100

/** An instant as the clocks of a zone show it: `Sun 2026-03-29 03:00:00 +02:00`. */
export function localText(at: Date, tz: string): string {
  try {
    const parts: Record<string, string> = {}
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: tz,
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    })
    for (const { type, value } of format.formatToParts(at)) parts[type] = value
    const offset = parts.timeZoneName === 'GMT' ? '+00:00' : parts.timeZoneName?.replace('GMT', '')
    return `${parts.weekday} ${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second} ${offset}`
  } catch {
    // Stored by a process whose Node knows a zone that this one does not.
    return `${utcText(at)} UTC`
  }
}

/** An instant in UTC, to the second. */
export const utcText = (at: Date): string => at.toISOString().slice(0, 19).replace('T', ' ')

/** When it recurs: `0 3 * * * in Europe/Berlin`, `every 5m`, `every 2 weeks from 2026-01-05 09:00 in Europe/Berlin`. */
export function recurs({ cron, everyMs, calendar, tz }: ScheduleInfo): string {
  if (calendar) {
    const [[unit, count]] = Object.entries(calendar.every) as [[string, number]]
    const anchor = calendar.anchor.replace('T', ' ').replace(/:00$/, '')
    return `every ${count === 1 ? unit.slice(0, -1) : `${count} ${unit}`} from ${anchor} in ${visible(tz)}`
  }
  return cron === null ? `every ${readable(everyMs ?? 0)}` : `${visible(cron)} in ${visible(tz)}`
}

/** How it stands, in a word or two. */
export function standing({ paused, ended, live, running, nextSlot }: ScheduleInfo): string {
  if (ended) return ended.why === 'person' ? 'ended' : 'ended, absent'
  if (paused) return 'paused'
  if (!live) return 'no worker'
  if (running) return 'running'
  return nextSlot === null ? 'over' : 'waiting'
}

/** Schedules as a table that fits into `width`. */
export function schedulesTable(schedules: readonly ScheduleInfo[], color: Output['color'], width = usualWidth): string {
  const column = (heading: string, cell: (each: ScheduleInfo) => string, rank = 0): Column => ({
    heading,
    cells: schedules.map(cell),
    rank,
  })
  const instant = (at: Date | null) => (at === null ? '–' : utcText(at))
  return fittedTable(
    color,
    [
      column('schedule', ({ name }) => name),
      column('job', ({ name, job }) => (name === job ? '–' : job), 2),
      column('recurs', recurs),
      column('state', standing),
      column('next (UTC)', ({ nextSlot }) => instant(nextSlot)),
      column('last (UTC)', ({ lastSlot }) => instant(lastSlot), 1),
      ...(schedules.some(({ handed }) => handed) ? [column('handed over', ({ handed }) => handed?.state ?? '–')] : []),
    ],
    width,
  )
}

/** One schedule with its slots. */
export function scheduleText(
  found: ScheduleInfo & { slots: readonly SlotInfo[] },
  color: Output['color'],
  width = usualWidth,
): string {
  const { slots, tz } = found
  const instant = (at: Date) => `${localText(at, tz)}  (${utcText(at)} UTC)`
  const facts: [string, string][] = [
    ['schedule', `${found.name}${found.job === found.name ? '' : `, of the job ${found.job}`}`],
    ['recurs', recurs(found)],
    ['state', stateText(found)],
    ['next', found.nextSlot ? instant(found.nextSlot) : 'none'],
    ['last', found.lastSlot ? instant(found.lastSlot) : 'none yet'],
    ['missed', typeof found.missed === 'string' ? found.missed : `the last ${found.missed.all}`],
    ['overlap', found.overlap],
    ...(found.jitterMs > 0 ? [['jitter', readable(found.jitterMs)] as [string, string]] : []),
    ...(found.startAt ? [['from', instant(found.startAt)] as [string, string]] : []),
    ...(found.endAt ? [['until', instant(found.endAt)] as [string, string]] : []),
    ...(found.key === null ? [] : [['key', visible(brief(found.key, 200))] as [string, string]]),
    ...(found.input === null ? [] : [['input', brief(JSON.stringify(found.input), 200)] as [string, string]]),
    ...(found.handed
      ? [['handed', `${handedText(found.handed)}, by the slot of ${utcText(found.handed.at)} UTC`] as [string, string]]
      : []),
    ['version', `${found.version}, ${found.declared ? 'declared in code' : 'made at run time'}`],
    ['audited', found.lastAuditAt ? `${utcText(found.lastAuditAt)} UTC` : 'not yet'],
  ]
  const lines = facts.map(([name, text]) => `${color.dim(name.padEnd(8))}  ${visible(text)}`)
  return slots.length === 0 ? lines.join('\n') : `${lines.join('\n')}\n\n${slotsTable(slots, tz, color, width)}`
}

/** What a slot handed over, and how that stands: `mail.send 0199…: done`. */
const handedText = ({ job, key, state }: HandedOver): string => `${visible(job)} ${brief(key, 60)}: ${state}`

function stateText(found: ScheduleInfo): string {
  const { paused, ended } = found
  if (ended)
    return ended.why === 'person'
      ? `ended ${utcText(ended.at)} UTC`
      : `ended ${utcText(ended.at)} UTC: for seven days no live worker had it`
  if (paused)
    return `paused since ${utcText(paused.since)} UTC by ${visible(paused.author)}: ${brief(paused.reason, 200)}`
  if (!found.live) return 'no live worker has its job: no slots are made until one does'
  return standing(found)
}

function slotsTable(slots: readonly SlotInfo[], tz: string, color: Output['color'], width: number): string {
  const column = (heading: string, cell: (slot: SlotInfo) => string, rank = 0): Column => ({
    heading,
    cells: slots.map(cell),
    rank,
  })
  const started = ({ at, begunAt }: SlotInfo) =>
    begunAt === null ? '–' : `+${readable(Math.max(0, begunAt.getTime() - at.getTime()))}`
  return fittedTable(
    color,
    [
      column(`slot (${visible(tz)})`, ({ at }) => localText(at, tz)),
      column('state', ({ state, reason, begunAt }) =>
        reason ? `${state}: ${reason}` : state === 'waiting' && begunAt ? 'begun' : state,
      ),
      column('through', ({ through }) => (through ? localText(through, tz) : '–'), 1),
      column('instants', ({ count, through }) => (through ? String(count ?? 'many') : '–'), 2),
      column('started', started, 3),
      column(
        'took',
        ({ begunAt, endedAt }) =>
          begunAt && endedAt ? readable(Math.max(0, endedAt.getTime() - begunAt.getTime())) : '–',
        4,
      ),
      ...(slots.some(({ handed }) => handed)
        ? [column('handed over', ({ handed }) => (handed ? handedText(handed) : '–'), 1)]
        : []),
    ],
    width,
  )
}
