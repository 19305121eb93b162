// What the answers of a run were, so that a test can say that it has seen the rare ones: sequences that never get to a crash or
// a healed queue agree about nothing.

/** Words for answers that a run of some hundred sequences must have seen. */
export const rareAnswers = [
  ...['taken', 'running', 'not_due', 'quarantined', 'suspect', 'lease_lost'],
  ...['freed: crashed', 'freed: alone', 'freed: waited', 'freed for good', 'pardoned', 'given back'],
  ...['dropped', 'row', 'kept', 'not_quarantined'],
  ...['recorded', 'merged', 'id in use', 'failed: taken_back'],
  ...['turn', 'turn of a paused job', 'ramped turn', 'healed', 'pause is over'],
  ...['page', 'page that left rows out', 'renewed', 'check of a paused job'],
  ...['slot held', 'slot begun', 'slot claimed', 'slot that ran', 'slot skipped'],
  ...['schedule ended: person', 'schedule ended: absent', 'schedule paused', 'slots forgotten', 'term refused'],
] as const

/** Counts answers by what they say. */
export class Tally {
  readonly counts = new Map<string, number>()

  see(answer: unknown): void {
    for (const word of words(answer)) this.count(word)
  }

  count(word: string): void {
    this.counts.set(word, (this.counts.get(word) ?? 0) + 1)
  }
}

type Fields = Readonly<Record<string, unknown>>

const list = (value: unknown): Fields[] => (Array.isArray(value) ? (value as Fields[]) : [])

function words(answer: unknown): string[] {
  if (Array.isArray(answer)) return (answer as unknown[]).flatMap(itemWords)
  if (typeof answer !== 'object' || answer === null) return []
  const { failed, keys, pardoned, givenBack, turns, pausesOver } = answer as Fields
  return [
    ...(failed === undefined ? [] : [`failed: ${failed}`]),
    ...list(keys).flatMap(({ why, quarantined }) => [`freed: ${why}`, ...(quarantined ? ['freed for good'] : [])]),
    ...list(pardoned).map(() => 'pardoned'),
    ...(Number(givenBack) > 0 ? ['given back'] : []),
    ...list(turns).flatMap(({ paused, rampedMs }) => [
      'turn',
      ...(paused ? ['turn of a paused job'] : []),
      ...(rampedMs === null ? [] : ['ramped turn']),
    ]),
    ...list(pausesOver).map(() => 'pause is over'),
    ...healedWords(answer as Fields),
    ...scheduleWords(answer as Fields),
  ]
}

/** Of a schedule, a slot, a list of either, or what a clean-up did. */
function scheduleWords({ open, rows, state, reason, through, ended, paused, forgotten, term }: Fields): string[] {
  return [
    ...list(open).flatMap(({ held, begunMs, standing }) => [
      ...(held ? ['slot held'] : []),
      ...(begunMs === null ? [] : ['slot begun']),
      ...(standing ? [`slot ${standing}`] : []),
    ]),
    ...(state === 'ran' ? ['slot that ran'] : reason ? ['slot skipped'] : []),
    ...(through ? ['slot for many'] : []),
    ...(ended && !Array.isArray(ended) ? [`schedule ended: ${(ended as Fields).why}`] : []),
    ...(paused && (term !== undefined || (paused as Fields).since) ? ['schedule paused'] : []),
    ...(Number(forgotten) > 0 ? ['slots forgotten'] : []),
    ...list(rows).flatMap(scheduleWords),
  ]
}

const healedWords = ({ tookMs, epoch }: Fields) => (tookMs !== undefined && epoch !== undefined ? ['healed'] : [])

function itemWords(item: unknown): string[] {
  if (Array.isArray(item)) return (item as unknown[]).flatMap(itemWords)
  if (item instanceof Set && item.size === 0) return ['term refused']
  if (typeof item !== 'object' || item === null) return []
  const { verdict, heldBy, usedBy, added, scanned, rows, paused, pending } = item as Fields
  return [
    ...(typeof verdict === 'string' ? [verdict] : []),
    ...healedWords(item as Fields),
    ...scheduleWords(item as Fields),
    ...(heldBy === undefined ? [] : [usedBy ? 'id in use' : added ? 'recorded' : 'merged']),
    ...(scanned === undefined
      ? []
      : ['page', ...(Number(scanned) > list(rows).length ? ['page that left rows out'] : [])]),
    ...list(rows).flatMap(({ renewed }) => (renewed ? ['renewed'] : [])),
    ...(pending instanceof Map && paused ? ['check of a paused job'] : []),
  ]
}
