// Claims live while their holder beats. Each beat also gives back claims of ours that nobody here knows of.
import type { Clock } from '../base/clock.ts'
import { RegrowError } from '../base/errors.ts'
import type { LoopSpec } from '../base/loop.ts'
import type { Workers } from '../store/workers.ts'
import type { Claims } from './held-claims.ts'
import { Behind } from './orphan-window.ts'

export interface BeatPorts {
  readonly clock: Clock
  readonly workers: Workers
  readonly claims: Claims
  /** Slots whose handler did not end: the worker's row tells of them. */
  readonly stuck: () => number
  readonly leaseMs: number
  readonly identity: () => { host: string; pid: number; jobs: Readonly<Record<string, string>> }
  readonly registered: () => void
  readonly gone: (holder: string) => void
}

export function beatLoop({ clock, workers, claims, stuck, leaseMs, identity, registered, gone }: BeatPorts): LoopSpec {
  let enrolled = ''
  const behind = new Behind()
  const register = async () => {
    const sentAt = clock.now()
    await workers.register({ holder: claims.holder, ...identity() }, leaseMs)
    enrolled = claims.holder
    claims.confirmed(sentAt)
    registered()
  }
  return {
    name: 'beat',
    stalledAfterMs: leaseMs / 2,
    errorDelayMs: leaseMs / 30,
    async tick() {
      if (enrolled !== claims.holder) await register()
      else {
        // The moment of sending counts: the store's clock read it later.
        const sentAt = clock.now()
        const { takes, highest } = claims.known()
        const lowest = behind.lowest(Math.min(highest + 1, ...takes))
        const { alive } = await workers.beat(claims.holder, takes, highest, leaseMs, stuck(), lowest)
        if (alive) claims.confirmed(sentAt)
        else {
          gone(claims.holder)
          claims.renew(
            new RegrowError(
              'lease_lost',
              'This worker was declared dead: it did not beat for a lease',
              'Its runs go on elsewhere.',
            ),
          )
          await register()
        }
      }
      return leaseMs / 5
    },
  }
}
