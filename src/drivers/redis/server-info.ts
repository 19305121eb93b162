// What a Redis server tells of itself, for `doctor`: INFO alone, since managed servers forbid CONFIG. Spread over slots, each
// slot's server is asked, and the worst answer of each kind is told.
import { messageOf } from '../../base/errors.ts'
import type { QueueInfo } from '../../queue/queue.ts'
import { isAnswer } from './client.ts'
import type { Slot } from './keys.ts'

/** The oldest version that has all commands of our scripts. */
const least = '6.2'

/** `send` asks the server that a slot is on. */
export async function examined(
  slots: readonly Slot[],
  send: (slot: Slot, args: string[]) => Promise<unknown>,
): Promise<QueueInfo> {
  try {
    const infos = await Promise.all(
      slots.map(async (slot) =>
        fields(`${await send(slot, ['INFO', 'server'])}\n${await send(slot, ['INFO', 'memory'])}`),
      ),
    )
    return infos.map(factsOf).reduce(worse)
  } catch (error) {
    // A user without the right to ask has a server all the same; one that is away is not to be told here.
    if (isAnswer(error)) return { refused: messageOf(error) }
    throw error
  }
}

const fields = (info: string): ReadonlyMap<string, string> =>
  new Map(
    info.split(/\r?\n/).flatMap((line) => {
      const at = line.indexOf(':')
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : []
    }),
  )

function factsOf(info: ReadonlyMap<string, string>): QueueInfo & Required<Pick<QueueInfo, 'memory' | 'eviction'>> {
  const valkey = info.get('valkey_version')
  const most = Number(info.get('maxmemory') ?? 0)
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  return {
    server: { name: valkey ? 'Valkey' : 'Redis', version: valkey ?? info.get('redis_version') ?? '', least },
    memory: { used: Number(info.get('used_memory') ?? 0), most: most > 0 ? most : null },
    eviction: policy === 'noeviction' ? 'none' : policy,
  }
}

type Facts = ReturnType<typeof factsOf>

function worse(one: Facts, other: Facts): Facts {
  const fullness = ({ memory: { used, most } }: Facts) => (most === null ? 0 : used / most)
  return {
    ...one,
    memory: fullness(other) > fullness(one) ? other.memory : one.memory,
    eviction: one.eviction === 'none' ? other.eviction : one.eviction,
  }
}
