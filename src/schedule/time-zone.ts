// A zone's local time. In: an IANA name; out: what its clocks show at an instant, and the first instant at which they
// show a given time or more. Intl is asked twice a day of the calendar and its answers are kept, so that a step of a
// pattern costs no formatting. Local times are numbers too: the milliseconds that UTC would have at that reading.

import { RegrowError } from '../base/errors.ts'
import { nearest } from '../base/suggest.ts'

const HOUR_MS = 3_600_000
const BLOCK_MS = 24 * 12 * HOUR_MS
const BLOCKS_KEPT = 2_000
/** How far clocks are from UTC at most (−12 h … +14 h), and how far one shift moves them (Apia 2011: 24 h), with room. */
const FARTHEST_MS = 26 * HOUR_MS

/** The names of three letters that IANA has. */
const LETTERS = ['UTC', 'GMT', 'UCT', 'CET', 'EET', 'MET', 'WET', 'EST', 'HST', 'MST', 'PRC', 'ROC', 'ROK']

/** A stretch of time in which the zone's clocks go evenly: from (inclusive) to (exclusive), and their lead over UTC. */
export interface Stretch {
  readonly fromMs: number
  readonly toMs: number
  readonly offsetMs: number
}

/** The clocks of one zone. */
export interface Zone {
  /** The even stretch that holds this instant. It may end without a shift: the next one may have the same offset. */
  stretchAt(atMs: number): Stretch
  /** The first instant at which the clocks show `localMs` or later: in a gap its end, in an overlap the first of the two. */
  firstAt(localMs: number): number
  /** The latest local time that the clocks have shown up to this instant; in an overlap's second pass that is its end. */
  latestShown(atMs: number): number
}

const zones = new Map<string, Zone>()

/** The zone of this name. Throws `bad_schedule`, with a guess, when there is none. */
export function zone(name: string): Zone {
  const known = zones.get(name)
  if (known) return known
  const made = clocksOf(formatOf(name))
  zones.set(name, made)
  return made
}

function formatOf(name: string): Intl.DateTimeFormat {
  try {
    // Offsets (+02:00) name no zone, and letters such as IST or PST name several: some versions of Node take them.
    if (!/^[a-z][\w+\-/]{0,63}$/i.test(name) || (name.length === 3 && !LETTERS.includes(name.toUpperCase())))
      throw new RangeError('not a name')
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    throw new RegrowError('bad_schedule', `tz is ${shown(name)}, which is no zone this Node knows`, advice(name))
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)
}

function advice(name: string): string {
  const form = `Write an IANA name such as 'Europe/Berlin', or 'UTC'.`
  if (name.length > 64) return form
  // Intl lists one name of each zone; these are the others that people write most.
  const also = ['UTC', 'Etc/UTC', 'GMT', 'Asia/Kolkata', 'Asia/Kathmandu', 'Asia/Ho_Chi_Minh', 'Europe/Kyiv']
  const names = [...Intl.supportedValuesOf('timeZone'), ...also]
  const asked = name.trim().replaceAll(' ', '_').toLowerCase()
  const city = names.find((each) => each.toLowerCase().split('/').at(-1) === asked)
  const guess = city ?? (asked.length > 3 ? nearest(asked, names) : undefined)
  return guess ? `Did you mean '${guess}'? ${form}` : form
}

function clocksOf(format: Intl.DateTimeFormat): Zone {
  const blocks = new Map<number, readonly Stretch[]>()

  function stretchAt(atMs: number): Stretch {
    const number = Math.floor(atMs / BLOCK_MS)
    let block = blocks.get(number)
    if (!block) {
      block = readBlock(format, number * BLOCK_MS)
      if (blocks.size >= BLOCKS_KEPT) blocks.clear()
      blocks.set(number, block)
    }
    return block.find((each) => atMs < each.toMs) as Stretch
  }

  return {
    stretchAt,
    firstAt(localMs) {
      for (let at = localMs - FARTHEST_MS; ; ) {
        const stretch = stretchAt(at)
        const found = Math.max(stretch.fromMs, localMs - stretch.offsetMs)
        if (found < stretch.toMs) return found
        at = stretch.toMs
      }
    },
    latestShown(atMs) {
      let latest = Number.NEGATIVE_INFINITY
      for (let at = atMs - FARTHEST_MS; at <= atMs; ) {
        const { toMs, offsetMs } = stretchAt(at)
        latest = Math.max(latest, Math.min(toMs - 1, atMs) + offsetMs)
        at = toMs
      }
      return latest
    },
  }
}

/** The stretches of one block, cut where the offset changes. Two shifts within half a day that cancel are not seen: no zone had them. */
function readBlock(format: Intl.DateTimeFormat, blockMs: number): readonly Stretch[] {
  const stretches: Stretch[] = []
  let fromMs = blockMs
  let offsetMs = offsetAt(format, blockMs)
  for (let at = blockMs; at < blockMs + BLOCK_MS; at += 12 * HOUR_MS) {
    const after = offsetAt(format, at + 12 * HOUR_MS)
    if (after === offsetMs) continue
    const shiftMs = firstWith(format, after, at, at + 12 * HOUR_MS)
    stretches.push({ fromMs, toMs: shiftMs, offsetMs })
    fromMs = shiftMs
    offsetMs = after
  }
  // A shift exactly at the end belongs to the next block.
  if (fromMs < blockMs + BLOCK_MS) stretches.push({ fromMs, toMs: blockMs + BLOCK_MS, offsetMs })
  return stretches
}

/** The first whole second with this offset, between one that has another (excluded) and one that has it. */
function firstWith(format: Intl.DateTimeFormat, offsetMs: number, withoutMs: number, withMs: number): number {
  let [low, high] = [withoutMs / 1_000, withMs / 1_000]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(format, middle * 1_000) === offsetMs) high = middle
    else low = middle
  }
  return high * 1_000
}

function offsetAt(format: Intl.DateTimeFormat, atMs: number): number {
  const read: Record<string, string> = {}
  for (const part of format.formatToParts(atMs)) read[part.type] = part.value
  const year = read.era === 'BC' ? 1 - Number(read.year) : Number(read.year)
  const [month, day] = [Number(read.month) - 1, Number(read.day)]
  return Date.UTC(year, month, day, Number(read.hour), Number(read.minute), Number(read.second)) - atMs
}
