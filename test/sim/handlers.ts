// What the handlers of the simulated application do: each key as its row says, told to the oracle from start to end.
import type { BatchContext, Context, Handler } from '../../src/job/handler.ts'
import type { KeyCodec } from '../../src/job/key.ts'
import { type Deed, type Part, refusedText } from './cast.ts'
import type { Oracle } from './oracle.ts'
import type { SimProcess } from './sim-process.ts'
import type { AppTx } from './store/database.ts'

/** What handlers touch. */
export interface Stage {
  readonly oracle: Oracle
  /** What the key's handler is to do now; undefined: nobody wrote that key. */
  readonly deedOf: (job: string, key: string) => Deed | undefined
  /** The generation of a row, as it is committed now. */
  readonly generationOf: (job: string, key: string) => number
  /** Counts a try of what a key is now, and answers how many there were. */
  readonly tried: (job: string, key: string) => number
  /** Kills the process, from inside. */
  readonly crash: (process: SimProcess) => void
  /** Marks a row as done over a connection of the handler's own. */
  readonly finishOutside: (process: SimProcess, part: Part, key: string, generation: number) => Promise<void>
  /** A number that nobody else gets: effects have no identity of their own. */
  readonly next: () => number
}

const slowMs = 2_500
/** Statements leave at multiples of this. */
const togetherMs = 400

/** The part of a context that handlers of one key and of many have in common here. */
interface Acting {
  readonly signal: AbortSignal
  readonly tx: Context<AppTx>['tx']
  readonly fail: (key: string, error: Error) => void
  readonly again: (key: string, inMs: number) => void
  readonly quarantine: (key: string) => void
}

/** The function of a handler of one key, of an intent, or of many keys. */
export function handlerOf(stage: Stage, process: SimProcess, part: Part, codec: KeyCodec): Handler['run'] {
  if (part.many)
    return (async (values: unknown[], ctx: BatchContext<unknown, AppTx>) => {
      const of = new Map(values.map((value) => [codec.encode(value), value]))
      await act(stage, process, part, [...of.keys()], {
        signal: ctx.signal,
        tx: ctx.tx.bind(ctx),
        fail: (key, error) => ctx.fail(of.get(key), error),
        again: (key, inMs) => ctx.snooze(of.get(key), inMs),
        quarantine: (key) => ctx.quarantine(of.get(key), 'it gives up'),
      })
    }) as Handler['run']
  return (async (value: unknown, ctx: Context<AppTx>) => {
    const key = part.input ? (ctx.idempotencyKey.split('/')[1] as string) : codec.encode(value)
    await act(stage, process, part, [key], {
      signal: ctx.signal,
      tx: ctx.tx.bind(ctx),
      fail: (_, error) => {
        throw error
      },
      again: (_, inMs) => ctx.snooze(inMs),
      quarantine: () => ctx.quarantine('it gives up'),
    })
  }) as Handler['run']
}

async function act(stage: Stage, process: SimProcess, part: Part, keys: readonly string[], ctx: Acting): Promise<void> {
  for (const key of keys) stage.oracle.started(process, part, key)
  try {
    const left: Reading[] = []
    for (const key of keys) {
      // Read before the work, as handlers do: what is written meanwhile is not in it.
      const generation = stage.generationOf(part.name, key)
      if (await begin(stage, process, part, { key, generation }, ctx)) left.push({ key, generation })
    }
    if (left.length === 0) return
    if (part.transacts) await transact(stage, process, part, left, ctx)
    else for (const { key, generation } of left) await stage.finishOutside(process, part, key, generation)
  } finally {
    for (const key of keys) stage.oracle.ended(process, part.name, key)
  }
}

/** As a function, or as a statement that others may share a transaction with: keys and their generations take turns. */
async function transact(
  stage: Stage,
  process: SimProcess,
  part: Part,
  left: readonly Reading[],
  ctx: Acting,
): Promise<void> {
  const work = (tx: AppTx) => finish(stage, part, left, tx)
  const [first] = left as [Reading]
  const isStatement = !isFunction(first)
  if (isStatement) await nextMoment(process)
  const call = isStatement ? ctx.tx({ text: 'finish', values: [work] }) : ctx.tx(work)
  if (stage.deedOf(part.name, first.key) !== 'forgets') await call
}

const isFunction = ({ key, generation }: Reading) => (key.charCodeAt(key.length - 1) + generation) % 4 === 0

/** The effect in one transaction, the row in another: nothing of it may commit. */
async function callTwice(stage: Stage, part: Part, reading: Reading, { tx }: Acting): Promise<void> {
  const halves = [
    (own: AppTx) => writeEffect(stage, part, reading, own),
    (own: AppTx) => finish(stage, part, [reading], own, false),
  ]
  await Promise.allSettled(
    halves.map((half) => (isFunction(reading) ? tx(half) : tx({ text: 'half', values: [half] }))),
  )
}

const moments = new WeakMap<SimProcess, { readonly at: number; readonly come: Promise<void> }>()

/** In life many runs end in the same moment; in virtual time hardly two would. One wait for all of a process. */
function nextMoment(process: SimProcess): Promise<void> {
  const { clock } = process
  const at = Math.floor(clock.now() / togetherMs) + 1
  const known = moments.get(process)
  if (known?.at === at) return known.come
  const come = clock.sleep(at * togetherMs - clock.now())
  moments.set(process, { at, come })
  return come
}

/** True when the key's effect is still to be written. */
async function begin(stage: Stage, process: SimProcess, part: Part, reading: Reading, ctx: Acting): Promise<boolean> {
  const { key } = reading
  const tries = stage.tried(part.name, key)
  switch (stage.deedOf(part.name, key)) {
    case 'crash':
      stage.crash(process)
      // One of its own each time: a promise that all share would keep every world that ever waited for it.
      return new Promise<never>(() => {})
    case 'slow':
      await process.clock.sleep(slowMs, ctx.signal)
      return true
    case 'deaf':
      await process.clock.sleep(slowMs)
      return true
    case 'throws':
      throw new Error('it throws')
    case 'hangs':
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      throw new Error('it was told to end')
    case 'poison':
      // In a batch half of them throw, and take their neighbours with them (M36).
      if (part.many && tries % 2 === 0) throw new Error('poison for all')
      ctx.fail(key, new Error('poison'))
      return false
    case 'fails twice':
      if (tries > 2) return true
      ctx.fail(key, new Error('not yet'))
      return false
    case 'again':
      if (tries > 1) return true
      ctx.again(key, 1_000)
      return false
    case 'far':
      ctx.again(key, 1e300)
      return false
    case 'refused':
      ctx.fail(key, new Error(refusedText))
      return false
    case 'gives up':
      ctx.quarantine(key)
      return false
    case 'twice':
      if (tries > 1) return true
      await callTwice(stage, part, reading, ctx)
      return false
    case 'stays':
    case undefined:
      return false
    case 'forgets':
    case 'ok':
      return true
  }
}

/** A key, and what its row was when the handler began. */
interface Reading {
  readonly key: string
  readonly generation: number
}

/**
 * Effects and rows in one transaction. A row that was written anew meanwhile stays as it is; its state is not looked at: that
 * nobody does a generation twice is for the fence to say (S4).
 */
async function finish(
  stage: Stage,
  part: Part,
  readings: readonly Reading[],
  tx: AppTx,
  withEffects = true,
): Promise<void> {
  for (const { key, generation } of [...readings].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    const row = part.input ? undefined : await tx.lock(part.table, key)
    if (!part.input && !row) continue
    if (withEffects) await writeEffect(stage, part, { key, generation }, tx)
    if (row?.generation === generation) await tx.put(part.table, key, { ...row, state: 'done' })
  }
}

const writeEffect = (stage: Stage, part: Part, { key, generation }: Reading, tx: AppTx) =>
  tx.put('effects', `${part.name}|${key}|${generation}|${stage.next()}`, {})
