// What the users of the simulated application do in a history: rows written, changed and removed, with an enqueue or
// without, in transactions that stay open; and intents. Drawn from the seed alone: a run without faults plays the same.
import type { Random } from '../../src/base/random.ts'
import { cast, type Deed, finishing, mail, type Part } from './cast.ts'
import { Draw } from './plan.ts'

export interface WriteRow {
  readonly kind: 'write'
  readonly atMs: number
  readonly part: Part
  readonly key: Part['keys'][number]
  readonly deed: Deed
  /** When its row says that it runs, from now; null: at once. */
  readonly inMs: number | null
  /** How long its transaction stays open. */
  readonly heldMs: number
  readonly enqueue: 'after' | 'before' | 'never'
}

export interface RemoveRow {
  readonly kind: 'remove'
  readonly atMs: number
  readonly part: Part
  readonly key: Part['keys'][number]
}

export interface RecordIntent {
  readonly kind: 'intent'
  readonly atMs: number
  readonly part: Part
  readonly id: string
  readonly deed: Deed
  readonly inMs: number
  /** Recorded in a transaction that stays open so long; 0: by itself. */
  readonly heldMs: number
  /** Merged into an intent of the same text that has not started. Left out or null: none. */
  readonly unique?: string | null
}

export type Action = WriteRow | RemoveRow | RecordIntent

/** The deeds of a history: most are harmless, and of the others a few. */
function deedOf(draw: Draw, part: Part): Deed {
  return draw.chance(0.55) ? 'ok' : draw.of(part.deeds)
}

export function scriptOf(random: Random, lastsMs: number): readonly Action[] {
  const draw = new Draw(random)
  const count = draw.whole(6, 26)
  const crashers = { left: draw.chance(0.2) ? 1 : 0 }
  const deeds = new Map<string, Deed>()
  const actions: Action[] = []
  const times = Array.from({ length: count }, () => draw.between(0, lastsMs * 0.9)).sort((a, b) => a - b)
  for (const atMs of times) {
    const part = draw.of(cast)
    if (part.input) actions.push(intent(draw, random, atMs))
    else {
      const action = row(draw, part, atMs, deeds, crashers)
      if (action) actions.push(action)
    }
  }
  return actions
}

function intent(draw: Draw, random: Random, atMs: number): RecordIntent {
  const hex = random.hex(16)
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
  return {
    kind: 'intent',
    atMs,
    part: mail,
    id,
    deed: deedOf(draw, mail),
    inMs: draw.chance(0.2) ? draw.between(0, 8_000) : 0,
    heldMs: draw.chance(0.2) ? draw.between(0, 3_000) : 0,
    // By the id, not drawn: the rest of a history stays as it is.
    unique: '01234567'.includes(hex[0] as string) ? ('0123'.includes(hex[0] as string) ? 'u' : 'v') : null,
  }
}

function row(
  draw: Draw,
  part: Part,
  atMs: number,
  deeds: Map<string, Deed>,
  crashers: { left: number },
): WriteRow | RemoveRow | null {
  const key = draw.of(part.keys)
  const id = `${part.name} ${key.text}`
  const before = deeds.get(id)
  if (before && draw.chance(0.08)) {
    deeds.set(id, 'ok')
    return { kind: 'remove', atMs, part, key }
  }
  // Without a version nobody can tell new work from what is quarantined: such a row is left alone.
  if (before && !part.versioned && !finishing.includes(before)) return null
  let deed = deedOf(draw, part)
  if (deed === 'crash' && crashers.left-- <= 0) deed = 'ok'
  deeds.set(id, deed)
  return {
    kind: 'write',
    atMs,
    part,
    key,
    deed,
    inMs: part.timed && draw.chance(0.5) ? draw.between(0, 12_000) : null,
    heldMs: draw.chance(0.25) ? draw.between(0, 4_000) : 0,
    enqueue: draw.chance(0.5) ? 'after' : draw.chance(0.4) ? 'before' : 'never',
  }
}
