// Chance from a seed: what is random in a test is drawn from here, so that it can be played again.
import type { Random } from '../../src/base/random.ts'

/** Chance from a seed (mulberry32), so that a run replays exactly. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const float = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const hex = (bytes: number) =>
    Array.from({ length: bytes }, () =>
      Math.floor(float() * 256)
        .toString(16)
        .padStart(2, '0'),
    ).join('')
  return { float, hex }
}
