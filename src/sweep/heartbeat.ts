// A dead man's switch: after each sweep that succeeded an address is called, where the job's declaration names one. Whoever
// waits there raises the alarm when no call comes: it works when regrow itself is gone.

import { messageOf } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { redact } from '../base/redact.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'

/** S16: nobody waits for it, and it ends. */
const timeoutMs = 10_000

/** Calls the job's address and returns at once; a failure is an event, without the address: it may be a secret. */
export function heartbeats(events: Events<EventMap>): (job: Job) => void {
  return ({ name, heartbeat }) => {
    if (heartbeat === null) return
    void call(heartbeat).catch((error: unknown) => {
      const text = redact(messageOf(error)).replaceAll(heartbeat, '(its address)')
      events.emit('heartbeat.failed', { job: name, error: new Error(text) })
    })
  }
}

async function call(url: string): Promise<void> {
  const response = await fetch(url, { method: 'GET', redirect: 'follow', signal: AbortSignal.timeout(timeoutMs) })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`the heartbeat was answered with ${response.status}`)
}
