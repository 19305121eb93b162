// Upper arrow, step check: claims in; those whose row is pending, and those whose row is not, out.
// A statement of its own, begun after the take returned: in one snapshot with it, work that just finished would be
// granted.
import type { Source } from '../store/source.ts'
import type { Taken } from './batch.ts'

export async function check(source: Source, taken: readonly Taken[]): Promise<{ ready: Taken[]; stopped: Taken[] }> {
  if (taken.length === 0) return { ready: [], stopped: [] }
  const { pending } = await source.check(taken.map(({ hint }) => hint.key))
  return {
    ready: taken.filter(({ hint }) => pending.has(hint.key)),
    stopped: taken.filter(({ hint }) => !pending.has(hint.key)),
  }
}
