// Runs a script by its hash, and sends its text to a server that does not know it (F27, M22).
import { createHash } from 'node:crypto'
import { isUnknownScript } from './client.ts'
import type { Line } from './connection.ts'
import { scripts } from './scripts/scripts.gen.ts'

export type ScriptName =
  | 'push'
  | 'pushDelayed'
  | 'pop'
  | 'count'
  | 'peek'
  | 'advanceMark'
  | 'setMark'
  | 'forget'
  | 'wipe'

interface Script {
  readonly text: string
  readonly sha: string
}

export type Scripts = Readonly<Record<ScriptName, Script>>

/** Each with what it begins with. `clock` is Lua that says what time it is; the server's own unless a test brings another. */
export function scriptsWith(clock: string = scripts.clock): Scripts {
  const { prelude, pushPrelude } = scripts
  const begun = (head: string, ...parts: string[]): Script => {
    const text = [head, clock, prelude, ...parts].join('\n')
    return { text, sha: createHash('sha1').update(text).digest('hex') }
  }
  const script = (...parts: string[]) => begun('', ...parts)
  return {
    push: begun(scripts.pushHead, pushPrelude, scripts.push),
    pushDelayed: script(pushPrelude, scripts.pushDelayed),
    pop: script(scripts.pop),
    count: script(scripts.count),
    peek: script(scripts.peek),
    advanceMark: script(scripts.advanceMark),
    setMark: script(scripts.setMark),
    forget: script(scripts.forget),
    wipe: script(scripts.wipe),
  }
}

/** `keys` has one at least, and all of one slot. */
export function run(
  line: Line,
  { sha, text }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const first = keys[0] as string
  const rest = [String(keys.length), ...keys, ...args]
  return line.send(first, ['EVALSHA', sha, ...rest]).catch((error: unknown) => {
    if (!isUnknownScript(error)) throw error
    return line.send(first, ['EVAL', text, ...rest])
  })
}
