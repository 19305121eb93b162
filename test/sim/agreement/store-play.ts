// Plays a sequence on both sides, one step after another, and compares every answer; at the end every row.
import { isDeepStrictEqual } from 'node:util'
import type { AppTx } from '../store/database.ts'
import { type Call, type Memory, sorted } from './store-calls.ts'
import { gridMs, holders, jobNames, jobs, keysOf } from './store-cast.ts'
import { resolve } from './store-resolve.ts'
import type { Step } from './store-steps.ts'
import type { Subject } from './store-subject.ts'
import type { Tally } from './store-tally.ts'

/** Where the two differ. */
class Disagreement extends Error {
  override readonly name = 'Disagreement'
}

/** The first instant of every sequence. */
const beginning = gridMs

/** Plays `steps` on a model and a real store; throws at the first answer that differs. Returns how many calls were made. */
export async function play(steps: readonly Step[], model: Subject, real: Subject, tally: Tally): Promise<number> {
  const memory: Memory = { now: beginning, takes: 0, claims: [], turns: [] }
  let calls = 0
  for (const subject of [model, real]) {
    await subject.setNow(memory.now)
    await subject.reset()
  }
  const inARow = (step: Step) => (step.call === 'in a row' ? (step.steps as Step[]) : [step])
  for (const step of [...opening, ...steps.flatMap(inARow)]) {
    if (step.call === 'transaction') {
      calls += await transaction(step, memory, model, real, tally)
      continue
    }
    for (const call of resolve(step, memory)) {
      calls++
      const answer = await compared(call.name, model, real, (subject) => call.run(subject))
      tally.see(answer)
      call.learn?.(answer)
    }
  }
  await compared('every row', model, real, (subject) => subject.dump())
  return calls
}

const opened = { everyMs: 10_000, missed: 'once', jitterMs: 0, input: '{}', endAt: null }

/** So that sequences need not spend half of their steps on coming to life. */
const opening: readonly Step[] = [
  ...holders.map((holder) => ({ call: 'workers.register', holder, jobs: [...jobNames, 'tick'] })),
  { call: 'schedules.declare', names: ['tick', 'hand'], ...opened },
  { call: 'sweeps.declare', jobs: jobs.map(({ name }) => name), everyMs: 60_000 },
  ...['big', 'pair', 'text'].flatMap((job) =>
    (keysOf[job] ?? []).slice(0, 3).map((key) => ({
      call: 'app.put',
      job,
      key,
      row: { open: true, version: 'v1', inMs: null },
    })),
  ),
]

async function transaction(step: Step, memory: Memory, model: Subject, real: Subject, tally: Tally): Promise<number> {
  // On one connection nothing can be called beside an open transaction.
  const together = model.manyConnections && real.manyConnections
  const inside = (step.steps as readonly Step[]).flatMap((each): Call[] => {
    if (each.call !== 'beside') return resolve(each, memory)
    return together ? resolve(each.of as Step, memory).map(outside) : []
  })
  const [late] = together && step.waiting ? resolve(step.waiting as Step, memory) : []
  const what = [...inside, ...(late ? [late] : [])].map(({ name }) => name)
  const answer = await compared(`transaction of ${what}, ${step.end}`, model, real, async (subject) => {
    const answers: unknown[] = []
    let called: Promise<unknown> | undefined
    let waited = false
    const ended = subject.store.transaction(async (tx, own: AppTx) => {
      for (const call of inside) answers.push(await call.run(subject, { tx, own }))
      called = late && answerOf(late.run(subject))
      if (called) waited = await subject.waits(called)
      if (step.end === 'throw') throw Object.assign(new Error('taken back'), { code: 'taken_back' })
    })
    return { ended: await answerOf(ended), answers, late: await called, waited }
  })
  type Told = { answers: unknown[]; late: unknown; ended: unknown; waited: boolean }
  const { answers, late: lateAnswer, ended, waited } = answer as Told
  if (waited) tally.count(`waited for a transaction: ${ended === undefined ? 'commit' : 'rollback'}`)
  for (const each of [...answers, lateAnswer, ended]) tally.see(each)
  if (lateAnswer !== undefined) late?.learn?.(lateAnswer)
  return what.length + 1
}

/** A call that does not take part in the transaction during which it is made. */
const outside = (call: Call): Call => ({ ...call, run: (subject) => call.run(subject) })

/** The answer of both, which is one: the model's. */
async function compared(
  what: string,
  model: Subject,
  real: Subject,
  ask: (subject: Subject) => Promise<unknown>,
): Promise<unknown> {
  const expected = await answerOf(ask(model))
  const found = await answerOf(ask(real))
  const [left, right] = [normal(expected), normal(found)]
  if (!isDeepStrictEqual(left, right))
    throw new Disagreement(`${what}:\n  model ${difference(left, right)}\n  real  ${difference(right, left)}`)
  return expected
}

async function answerOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise
  } catch (error) {
    const code = (error as { code?: unknown } | null)?.code
    if (code === undefined) throw error
    return { failed: code }
  }
}

/** In records of lists only what the other side has otherwise. */
function difference(own: unknown, other: unknown): string {
  const isLists = (value: unknown): value is Record<string, unknown[]> =>
    typeof value === 'object' && value !== null && Object.values(value).every(Array.isArray)
  if (!isLists(own) || !isLists(other)) return JSON.stringify(own)
  const only = Object.entries(own).map(([name, list]) => [
    name,
    list.filter((item) => !(other[name] ?? []).some((same) => isDeepStrictEqual(same, item))),
  ])
  return JSON.stringify(Object.fromEntries(only.filter(([, list]) => (list as unknown[]).length > 0)))
}

/** Sets and maps as sorted lists, instants as numbers. */
function normal(value: unknown): unknown {
  if (value instanceof Date) return value.getTime()
  if (value instanceof Set) return sorted([...value])
  if (value instanceof Map) return sorted([...value].map(normal))
  if (Array.isArray(value)) return value.map(normal)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, normal(each)]))
  return value
}
