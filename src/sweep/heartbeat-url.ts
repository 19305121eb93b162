// A dead man's switch: after each sweep that succeeded an address is called, where the job's declaration names one. Whoever
// waits there raises the alarm when no call comes: it works when regrow itself is gone.
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import { causeOf, codeOf } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'

/** S16: nobody waits for it, and it ends. */
const patienceMs = 10_000

/** Calls the job's address and returns at once; a failure is an event, without the address: it may be a secret. */
export function heartbeats({ clock, events }: { clock: Clock; events: Events<EventMap> }): (job: Job) => void {
  return ({ name, heartbeat }) => {
    if (heartbeat === null) return
    void call(clock, heartbeat).catch((error: unknown) =>
      events.emit('heartbeat.failed', { job: name, error: new Error(`the heartbeat ${reason(error)}`) }),
    )
  }
}

async function call(clock: Clock, url: string): Promise<void> {
  const over = new AbortController()
  try {
    const answer = fetch(url, { method: 'GET', redirect: 'follow', signal: over.signal })
    const { ok, status } = await withDeadline(clock, patienceMs, 'it', answer)
    if (!ok) throw new Refused(status)
  } finally {
    // Also ends what nobody reads: the body, or a call that takes too long.
    over.abort()
  }
}

class Refused extends Error {
  constructor(status: number) {
    super(`was answered with ${status}`)
  }
}

/** Only words of our own and codes such as ECONNREFUSED: the texts of a client name the address in many forms. */
function reason(error: unknown): string {
  if (error instanceof Refused) return error.message
  const found = codeOf(causeOf(error)) ?? codeOf(error)
  return found === 'deadline' ? 'was not answered in time' : `could not be called${found ? `: ${found}` : ''}`
}
