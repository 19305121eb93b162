// Claims live while their holder beats. Each beat also gives back claims of ours that nobody here knows of.
import type { Clock } from '../base/clock.ts'
import { RegrowError } from '../base/errors.ts'
import type { LoopSpec } from '../base/loop.ts'
import type { Workers } from '../store/workers.ts'
import type { Claims } from './claims.ts'

/** Registers, then beats five times in a lease. */
export function beatLoop(clock: Clock, workers: Workers, claims: Claims, leaseMs: number): LoopSpec {
  let enrolled = ''
  return {
    name: 'beat',
    async tick() {
      // The moment of sending counts: the store's clock read it later.
      const sentAt = clock.now()
      const { takes, highest } = claims.known()
      if (enrolled !== claims.holder) {
        await workers.register(claims.holder)
        enrolled = claims.holder
      } else if (!(await workers.beat(claims.holder, takes, highest))) {
        claims.renew()
        throw new RegrowError('lease_lost', 'This worker was declared dead', 'It goes on under a new identity.')
      }
      claims.beatAt = sentAt
      return leaseMs / 5
    },
  }
}
