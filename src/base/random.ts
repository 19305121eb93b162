// Chance enters here and nowhere else, so that a seeded run replays exactly.
import { randomBytes } from 'node:crypto'

/** The only source of chance. Tests and the simulator bring their own. */
export interface Random {
  /** A number in [0, 1). */
  float(): number
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string
}

/** The chance of this machine. */
export const systemRandom: Random = {
  float: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  hex: (bytes) => randomBytes(bytes).toString('hex'),
}

/** `ms` moved by up to ± `share` of itself. */
export const spread = (random: Random, ms: number, share: number): number => ms * (1 + share * (2 * random.float() - 1))
