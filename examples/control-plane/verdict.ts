// The end: what the database says became of everything that was promised. Lost is what nobody finished, nobody runs and
// nobody put aside, a good while after the last sign-up.
import type { Customers } from './customers.ts'
import type { Damage } from './damage.ts'
import type { Place } from './place.ts'
import { readTally, total } from './tally.ts'

export async function verdict(show: {
  place: Place
  customers: Customers
  damage: Damage
  retried: ReadonlyMap<string, number>
  /** The reader ended it: what had not happened by then is no fault. */
  quit: boolean
}): Promise<{ code: number; lines: string[] }> {
  const { place, customers, damage, retried, quit } = show
  const tally = await readTally(place.query)
  const [wipes, kills] = [damage.count('wipe'), damage.count('kill')]
  // All workers have stopped: a claim that is left belongs to nobody.
  const lost = total(tally, 'waiting') + total(tally, 'running')
  const doubled = total(tally, 'doubled')
  const regrown = damage.losses.some(({ kind, firstStartMs }) => kind === 'wipe' && firstStartMs !== undefined)

  const faults = [
    ...(lost > 0 ? [`${lost} rows are still waiting although nothing has finished for 20 s`] : []),
    ...(doubled > 0 ? [`${doubled} effects were written twice`] : []),
    ...(!quit && !regrown ? ['no key whose hint was wiped was seen to start again'] : []),
    ...(!quit && kills === 0 ? ['no worker was killed'] : []),
  ]
  const retries = [...retried.values()].reduce((sum, count) => sum + count, 0)
  const [rows, done, quarantined] = (['rows', 'done', 'quarantined'] as const).map((column) => total(tally, column))
  return {
    code: faults.length === 0 ? 0 : 1,
    lines: [
      '',
      ...damage.summary(),
      `not enqueued on purpose: ${customers.neverEnqueued} of ${customers.signedUp} databases, and all backups; the sweep found them`,
      ...(await quarantine(place)),
      ...faults.map((fault) => `FAULT: ${fault}`),
      '',
      `rows ${rows}, done ${done}, retried ${retries}, quarantined ${quarantined}, wipes ${wipes}, kills ${kills}, lost ${lost}`,
    ],
  }
}

async function quarantine(place: Place): Promise<string[]> {
  const { rows } = await place.query(
    `select job, key, failures, split_part(error, chr(10), 1) as error from regrow.ledger
     where state = 'quarantined' and job like 'demo.%' order by job, key`,
  )
  return rows.map(
    ({ job, key, failures, error }) => `in quarantine after ${failures} failures: ${job} ${key}: ${error}`,
  )
}
