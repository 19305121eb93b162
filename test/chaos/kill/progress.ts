// Plain lines about a run that goes on: every few seconds what is done, how fast, and how long it may still take.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Crew } from '../../processes/crew.ts'
import type { FaultCounts } from '../faults.ts'
import type { Feeder } from './feeder.ts'

const everyMs = 5_000

export interface Progress {
  /** Resolves with true when no work is left and `quarantined` keys are in quarantine, with false after `ms`. */
  quiet(ms: number, quarantined: number): Promise<boolean>
  end(): void
}

interface Watched {
  readonly client: pg.Client
  readonly crew: Crew
  readonly feeder: Feeder
  readonly counts: FaultCounts
  readonly rows: number
  readonly began: number
}

interface Standing {
  readonly done: number
  readonly pending: number
  readonly quarantined: number
  readonly running: number
  readonly suspects: number
}

const standing = `
  select (select count(*) from effects)::int as done,
    (select count(*) from rows where state = 'pending' and id > 0)::int as pending,
    count(*) filter (where state = 'quarantined')::int as quarantined,
    count(*) filter (where holder is not null)::int as running,
    count(*) filter (where holder is null and crashes > 1 and state <> 'quarantined')::int as suspects
  from regrow.ledger`

export function progress({ client, crew, feeder, counts, rows, began }: Watched): Progress {
  let last = { at: performance.now(), done: 0 }
  const look = async () => (await client.query(standing)).rows[0] as Standing
  const line = async () => {
    const { done, quarantined, running, suspects } = await look()
    const at = performance.now()
    const rate = ((done - last.done) * 1_000) / (at - last.at)
    last = { at, done }
    const left = rate > 0 ? `${Math.max(0, Math.ceil((rows - done) / rate))} s` : '?'
    const seconds = Math.round((at - began) / 1_000)
    console.log(
      `${String(seconds).padStart(4)} s  fed ${number(feeder.fed)}  done ${number(done)}  ${number(rate)}/s  left ~${left}  ` +
        `running ${running}  suspects ${suspects}  quarantined ${quarantined}  workers ${crew.working.length}  ` +
        `kills ${counts.kills}  stops ${counts.stops}  terms ${counts.terms}  crashes ${crew.crashes}`,
    )
  }
  const timer = setInterval(() => void line().catch(() => {}), everyMs)
  return {
    async quiet(ms, quarantined) {
      const until = performance.now() + ms
      while (performance.now() < until) {
        const now = await look()
        if (now.pending === 0 && now.running === 0 && now.quarantined >= quarantined) return true
        await sleep(500)
      }
      return false
    },
    end: () => clearInterval(timer),
  }
}

const number = (value: number) => Math.round(value).toLocaleString('en')
