// The end: what the database says became of everything that was promised. Lost is what nobody has finished or put aside,
// though all workers had the time to.
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
  const count = (column: 'rows' | 'done' | 'quarantined') => `${column} ${total(tally, column)}`
  // All workers have stopped: a claim that is left belongs to nobody.
  const lost = total(tally, 'waiting') + total(tally, 'running')
  const doubled = total(tally, 'doubled')
  const retries = [...retried.values()].reduce((sum, times) => sum + times, 0)
  const [wipes, kills] = [damage.count('wipe'), damage.count('kill')]

  const faults: string[] = []
  if (lost > 0) faults.push(`still waiting, though nothing has finished for a long time: ${lost}`)
  if (doubled > 0) faults.push(`effects written more than once: ${doubled}`)
  if (!quit && wipes === 0) faults.push('the queue was never wiped: it was empty all the time')
  if (!quit && wipes > 0 && !damage.regrown) faults.push('no key whose hint was wiped was seen to start again')
  if (!quit && kills === 0) faults.push('no worker was killed')
  return {
    code: faults.length === 0 ? 0 : 1,
    lines: [
      '',
      ...damage.summary(),
      `enqueued by nobody: ${customers.neverEnqueued} of ${customers.signedUp} databases, and all backups`,
      ...(await quarantine(place)),
      ...faults.map((fault) => `FAULT: ${fault}`),
      '',
      `${count('rows')}, ${count('done')}, retried ${retries}, ${count('quarantined')}, wipes ${wipes}, kills ${kills}, lost ${lost}`,
    ],
  }
}

async function quarantine(place: Place): Promise<string[]> {
  const { rows } = await place.query(
    `select substr(job, 6) as job, left(key, 8) as key, failures, substring(error from '^(?:Error: )?([^\\n]*)') as error
     from regrow.ledger where state = 'quarantined' and job like 'demo.%' order by job, key`,
  )
  return rows.map(({ job, key, failures, error }) => `quarantine: ${job} ${key}, ${failures} failures: ${error}`)
}
