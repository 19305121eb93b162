// The outside world, pretended: a cloud that creates and backs up databases, and a mail server that is often busy.
import { setTimeout as wait } from 'node:timers/promises'

/** A database that the cloud refuses, however often it is asked: the poison row. */
export const poisonId = 'badda7a0-0000-4000-8000-000000000000'

interface CallOptions {
  /** The same in each attempt: a real cloud would create one database for it, not two. */
  idempotencyKey: string
  signal: AbortSignal
}

export const cloud = {
  async createDatabase(id: string, { signal }: CallOptions): Promise<void> {
    await latency(100, 300, signal)
    if (id === poisonId) throw new Error('422: no region "atlantis"')
  },
  async backUp(_policy: bigint, { signal }: CallOptions): Promise<void> {
    await latency(50, 250, signal)
  },
}

export const mail = {
  async send(_to: string, { signal }: CallOptions): Promise<void> {
    await latency(50, 150, signal)
    if (Math.random() < 0.15) throw new Error('421: too busy, try again later')
  },
}

function latency(fromMs: number, toMs: number, signal: AbortSignal): Promise<void> {
  return wait(fromMs + Math.random() * (toMs - fromMs), undefined, { signal })
}
