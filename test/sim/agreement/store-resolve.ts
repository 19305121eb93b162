// Turns a step into calls: small numbers become claims and turns that this sequence has seen, lengths become instants.
// `estimate` is left out: the server's is a guess of its planner.
import type { Difference } from '../../../src/job/canary-mark.ts'
import type { Source } from '../../../src/store/source.ts'
import type { Turn, TurnEnd } from '../../../src/store/sweeps.ts'
import {
  beat,
  type Call,
  call,
  claimsOf,
  crash,
  crashTogether,
  type Detail,
  free,
  type Inside,
  type Memory,
  pass,
  quarantine,
  register,
  settleRow,
  sorted,
  take,
  takeAlone,
} from './store-calls.ts'
import { holders, jobNames, jobOf, leaseMs } from './store-cast.ts'
import { scheduleResolvers } from './store-schedules.ts'
import type { Step } from './store-steps.ts'
import type { Subject } from './store-subject.ts'

type Resolver = (step: Detail, memory: Memory) => Call | Call[]

/** The calls that a step means now. */
export function resolve(step: Step, memory: Memory): Call[] {
  const resolver = resolvers[step.call] ?? scheduleResolvers[step.call]
  if (!resolver) throw new TypeError(`unknown step "${step.call}"`)
  return [resolver(step, memory)].flat()
}

const wholePage = (job: string): Step => ({ call: 'source.page', job, after: null, limit: 9, horizonMs: 60_000 })

const sources = new WeakMap<object, Map<string, Source>>()

/** One source per store and job, as an app has them. */
function sourceOf({ store }: Subject, job: string): Source {
  const known = sources.get(store) ?? new Map<string, Source>()
  sources.set(store, known)
  const found = known.get(job) ?? store.source(jobOf(job))
  known.set(job, found)
  return found
}

const shapeOf = ({ versioned, dated, finishes }: Source) => ({ versioned, dated, finishes })

const turnOf = (memory: Memory, { of, wrong }: Detail) => {
  const found = memory.turns[of % memory.turns.length]
  if (!found || !wrong) return found
  // Of somebody else; or of the term before, in which the same one had it.
  if (of % 2 === 0) return { holder: 'h9', turn: found.turn }
  return { holder: found.holder, turn: { ...found.turn, term: found.turn.term - 1 } }
}

const named = (step: Step) => JSON.stringify(step)

const resolvers: Readonly<Record<string, Resolver>> = {
  pass: ({ ms }, memory) => pass(memory, ms),
  'workers.register': ({ holder, jobs, lease }) => register(holder, jobs, lease),
  emptied: (step) => call(named(step), (subject) => subject.empty(step.table)),
  'workers.beat': ({ holder, known, behind, stuck }, memory) => beat(memory, holder, known, behind, stuck),
  'workers.free': ({ all }) => free(all),
  'workers.leave': (step) => call(named(step), ({ store }) => store.workers.leave(step.holder)),
  'others live': ({ dead, rounds }, memory) => [
    ...Array.from({ length: rounds }).flatMap(() => [
      pass(memory, 4_000),
      ...holders.filter((holder) => holder !== dead).map((holder) => beat(memory, holder, 'all', 0)),
    ]),
    free(false),
  ],
  crash: ({ wait }, memory) => crash(memory, wait),
  'crash together': (step, memory) => crashTogether(memory, step),
  'crash alone': ({ holder, job, keys, together, times, begins }, memory) => [
    ...crashTogether(memory, { holder, job, keys, times: together }),
    ...Array.from({ length: times }).flatMap(() => [
      ...takeAlone(memory, { holder, job, keys }).slice(0, begins ? 2 : 1),
      ...crash(memory, 10_000),
    ]),
  ],
  quarantine: (step, memory) => [quarantine(memory, step), ...resolve(wholePage(step.job), memory)],
  'quarantine and drop': ({ holder, keys, recorded }, memory) => [
    ...(keys as string[]).slice(0, recorded).map((id) => {
      const intent = { id, input: '{}', inMs: 0, atMs: null, uniqueKey: null }
      return call(`record ${id}`, ({ store }) => store.intents.record('mail', [intent]))
    }),
    quarantine(memory, { holder, job: 'mail', keys, version: null }),
    ...resolve({ call: 'quarantine.find', job: 'mail', key: keys[0] }, memory),
    ...resolve({ call: 'quarantine.drop', job: 'mail', keys }, memory),
  ],
  'quarantine and yield': ({ holder, keys, uniqueKey, quarantined }, memory) => {
    const record = (id: string) => {
      const intent = { id, input: '{}', inMs: 0, atMs: null, uniqueKey }
      return call(`record ${id} as ${uniqueKey}`, ({ store }) => store.intents.record('mail', [intent]))
    }
    const look = call('look at hand', ({ store }) => store.schedules.look(['hand'], leaseMs))
    const [first, second] = keys as string[]
    return [
      record(first as string),
      look,
      quarantine(memory, { holder, job: 'mail', keys: [keys[1 - quarantined]], version: null }),
      look,
      call(`yield ${uniqueKey}`, ({ store }) => store.intents.yieldUnique('mail', uniqueKey)),
      record(second as string),
    ]
  },
  'start unique': ({ holder, keys, uniqueKey, claimed, asked, records }, memory) => {
    const all = keys as string[]
    const round = (n: number) => {
      const id = all[n % all.length] as string
      const intent = { id, input: '{}', inMs: 0, atMs: null, uniqueKey, untilStart: true }
      return [
        call(`record ${id} as ${uniqueKey}`, async ({ store }) => store.intents.record('mail', [intent])),
        ...resolve({ call: 'ledger.take', holder, job: 'mail', keys: all.slice(0, claimed), suspects: false }, memory),
        call(`start ${all.slice(0, asked)}`, async ({ store }) =>
          (await store.intents.startUnique('mail', all.slice(0, asked))).sort(),
        ),
        ...resolve({ call: 'source.check', job: 'mail', keys: all }, memory),
      ]
    }
    return Array.from({ length: records }, (_, n) => round(n)).flat()
  },
  'lost in a pass': ({ holder, job, cursor, queue }, memory) => {
    const asked = { call: 'sweeps.turn', holder, jobs: [job], max: 1 }
    return [
      pass(memory, 60_000),
      call(`a pass of ${job} that came to ${cursor}`, async ({ store }) => {
        const { turns } = await store.sweeps.turn(holder, [job], 1)
        return turns[0] ? store.sweeps.advance(holder, turns[0], cursor, 1) : null
      }),
      ...resolve({ call: 'lose now', queue }, memory),
      ...resolve(asked, memory),
    ]
  },
  'lost reply': (step, memory) => [
    take(memory, { ...step, suspects: false }),
    call(`beat of ${step.holder} who knows nothing`, ({ store }) =>
      store.workers.beat(step.holder, [], memory.takes, leaseMs),
    ),
  ],
  'pause for a while': ({ holder, job, keys, forMs, afterMs }, memory) => [
    ...resolve({ call: 'pauses.pause', job, forMs, reason: 'r' }, memory),
    pass(memory, 600),
    ...resolve({ call: 'sweeps.turn', holder, jobs: [job], max: 1 }, memory),
    ...resolve({ call: 'source.check', job, keys }, memory),
    pass(memory, afterMs),
    ...resolve({ call: 'sweeps.turn', holder, jobs: [job], max: 1 }, memory),
    ...resolve({ call: 'pauses.end', job }, memory),
  ],
  'ledger.take': (step, memory) => take(memory, step),
  'take alone': (step, memory) => takeAlone(memory, step),
  'ledger.alone': (step, memory) => {
    const { holder, claims } = claimsOf(memory, { ...step, of: [step.of], wrong: 0 })
    return claims.map((claim) =>
      call(`ledger.alone ${JSON.stringify({ holder, claim })}`, ({ store }) => store.ledger.alone(holder, claim)),
    )
  },
  'ledger.release': (step, memory) => {
    const { holder, claims } = claimsOf(memory, step)
    const name = `ledger.release ${JSON.stringify({ holder, claims })}`
    return call(name, ({ store }) => store.ledger.release(holder, claims))
  },
  'ledger.settle': (step, memory) => {
    const { holder, claims } = claimsOf(memory, step)
    const rows = claims.map((claim) => settleRow(claim, step.outcome))
    const name = `ledger.settle ${JSON.stringify({ holder, rows })}`
    return call(name, ({ store }, inside) => store.ledger.settle(holder, rows, inside?.tx))
  },
  'ledger.fence': (step, memory) => {
    const { holder, claims } = claimsOf(memory, step)
    const name = `ledger.fence ${JSON.stringify({ holder, claims })}`
    return call(name, ({ store }, inside) => store.ledger.fence(holder, claims, (inside as Inside).tx))
  },
  'ledger.clear': (step) => {
    const rows = (step.keys as string[]).map((key) => ({ key, version: step.version as string }))
    return call(named(step), async ({ store }) => sorted(await store.ledger.clear(step.job, rows)))
  },
  'ledger.remember': (step) => {
    const state = step.outcome.state === 'done' ? 'retrying' : step.outcome.state
    const rows = (step.keys as string[]).map((key) => ({ ...step.outcome, job: step.job, key, state }))
    return call(named(step), ({ store }) => store.ledger.remember(rows))
  },
  'ledger.standing': (step) => call(named(step), ({ store }) => store.ledger.standing(step.job, step.keys)),

  'sweeps.declare': (step) =>
    call(named(step), ({ store }) =>
      store.sweeps.declare(
        (step.jobs as string[]).map((job) => ({
          job,
          everyMs: step.everyMs,
          ...(step.fingerprint && { fingerprint: step.fingerprint }),
        })),
        { due: step.due === true, ...(step.holder && { holder: step.holder }) },
      ),
    ),
  'sweeps.turn': (step, memory) =>
    call(
      named(step),
      async ({ store }) => {
        const { turns, nextMs, pausesOver, missing } = await store.sweeps.turn(step.holder, step.jobs, step.max)
        return { turns: sorted(turns), nextMs, pausesOver: sorted(pausesOver), missing: sorted(missing) }
      },
      (answer) => {
        const won = (answer as { turns: Turn[] }).turns.map((turn) => ({ holder: step.holder, turn }))
        memory.turns = [...won, ...memory.turns].slice(0, 6)
      },
    ),
  'sweeps.advance': (step, memory) => {
    const own = turnOf(memory, step)
    if (!own) return []
    return call(named(step), ({ store }) => store.sweeps.advance(own.holder, own.turn, step.cursor, step.pushed))
  },
  'sweeps.end': (step, memory) => {
    const own = turnOf(memory, step)
    if (!own) return []
    const end: TurnEnd = { ...step.end, cursor: step.cursor }
    return call(`${named(step)} of ${own.turn.job}`, ({ store }) =>
      store.sweeps.end(own.holder, [{ turn: own.turn, end }]),
    )
  },
  'sweeps.makeDue': (step) =>
    call(named(step), ({ store }) =>
      store.sweeps.makeDue(step.jobs, step.anew === undefined ? undefined : { anew: step.anew }),
    ),
  'sweeps.noProgress': (step) => call(named(step), ({ store }) => store.sweeps.noProgress(step.job, step.count)),

  'whole pass': (step, memory) => [
    pass(memory, 600),
    call(named(step), async ({ store }) => {
      const { turns } = await store.sweeps.turn(step.holder, jobNames, 5)
      const end: TurnEnd = { ...step.end, cursor: null, finished: true, broughtBack: true, error: null }
      const ends = sorted(turns).map((turn) => ({ turn, end }))
      return [...sorted(turns), ...(await store.sweeps.end(step.holder, ends))]
    }),
  ],

  'marks.look': (step) => call(named(step), ({ store }) => store.marks.look(step.queue, step.everyMs)),
  'marks.raise': ({ queue, epoch, sequence, ...step }) =>
    call(named({ ...step, queue, epoch, sequence }), ({ store }) => store.marks.raise(queue, { epoch, sequence })),
  'marks.lose': (step) =>
    call(named(step), ({ store }) => {
      const found = step.found === null ? null : { epoch: step.found as number, sequence: 0 }
      const loss = { known: { epoch: step.epoch, sequence: 0 }, found, how: step.how as Difference, by: 'host 1' }
      return store.marks.lose(step.queue, loss, step.apartMs)
    }),
  'lose now': (step) =>
    call(named(step), async ({ store }) => {
      const seen = await store.marks.look(step.queue, 1_000)
      if (!seen) return null
      const loss = { known: seen.mark, found: null, how: 'missing', by: 'host 2' } as const
      return store.marks.lose(step.queue, loss, 0)
    }),

  'audits.page': (step) => call(named(step), ({ store }) => store.audits.page(step.job, step.after, step.limit)),
  'audits.write': (step) => {
    const said = (word: string) => (step.keys as string[]).filter((_, i) => step.words[i] === word)
    const verdicts = { forget: said('forget'), unseen: said('unseen'), seen: said('seen') }
    return call(named(step), ({ store }) => store.audits.write(step.job, verdicts))
  },

  'status.jobs': (step) => call(named(step), ({ store }) => store.status.jobs(leaseMs)),
  'status.workers': (step) => call(named(step), ({ store }) => store.status.workers(leaseMs)),
  'status.heals': (step) => call(named(step), ({ store }) => store.status.heals(step.limit)),
  'status.names': (step) => call(named(step), ({ store }) => store.status.names(step.job)),
  'quarantine.list': (step) =>
    call(named(step), ({ store }) => store.quarantine.list(step.job || null, step.after, step.limit)),
  'quarantine.find': (step) => call(named(step), ({ store }) => store.quarantine.find(step.job, step.key)),
  'quarantine.release': (step) =>
    call(named(step), ({ store }) => store.quarantine.release(step.job, step.keys, 'ann')),
  'quarantine.drop': (step) =>
    call(named(step), async ({ store }) => sorted(await store.quarantine.drop(step.job, step.keys, 'ann'))),

  'pauses.pause': (step) =>
    call(named(step), ({ store }) => store.pauses.pause(step.job, step.reason, 'ann', step.forMs)),
  'pauses.resume': (step) => call(named(step), ({ store }) => store.pauses.resume(step.job, 'bob')),
  'pauses.end': (step) => call(named(step), ({ store }) => store.pauses.end(step.job)),
  'pauses.list': (step) => call(named(step), ({ store }) => store.pauses.list()),

  'source.page': (step) =>
    call(named(step), async (subject) => {
      const source = sourceOf(subject, step.job)
      return [await source.page(step.after, step.limit, step.horizonMs, 10_000), shapeOf(source)]
    }),
  'source.check': (step) =>
    call(named(step), async (subject) => {
      const source = sourceOf(subject, step.job)
      return [await source.check(step.keys), shapeOf(source)]
    }),

  'app.put': (step, memory) => {
    const { inMs, ...row } = step.row
    const runAt = inMs === null ? null : memory.now + inMs
    // As text, since JSON has no infinities.
    const full = { ...row, runAt: runAt === null || Number.isFinite(runAt) ? runAt : String(runAt) }
    return call(named(step), ({ app }, inside) => (inside?.own ?? app).put(step.job, step.key, full))
  },
  'app.remove': (step) => call(named(step), ({ app }, inside) => (inside?.own ?? app).remove(step.job, step.key)),
  'app.get': (step) => call(named(step), ({ app }, inside) => (inside?.own ?? app).get(step.job, step.key)),
  'app.lock': (step) => call(named(step), ({ app }, inside) => (inside?.own ?? app).lock(step.job, step.key)),
  'intents.record': (step, memory) => {
    const rows = (step.intents as Detail[]).map(({ atIn, ...row }) => ({
      ...row,
      atMs: atIn === null ? null : Math.round(memory.now + atIn),
    }))
    return call(named(step), async ({ store }, inside) =>
      sorted(await store.intents.record(step.job, rows, inside?.tx)),
    )
  },
}
