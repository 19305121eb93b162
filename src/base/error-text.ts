// The whole text of anything thrown: its stack, its `code`, the errors inside it and its causes, bounded in depth and length.
// A settle must not fail because of what a handler threw, so nothing here throws, whatever getters and prototypes the thing has.
import { inspect } from 'node:util'
import { errorsIn, isErrorLike, kindOf, messageOf, read } from './errors.ts'

/** Errors that are told of one failure: a chain of causes may be long, and may be a circle. */
const errorsMost = 12
/** Characters of each of them; of the outermost when there are others behind it. */
const charactersMost = { inner: 600, outer: 4_000 }

export function errorText(thrown: unknown): string {
  if (typeof thrown === 'string' && thrown !== '') return thrown
  if (!isErrorLike(thrown)) return notAnError(thrown)
  const told = new Set<unknown>([thrown])
  const inner = innerLines(thrown, told, '')
  const own = withCode(stackOf(thrown), thrown)
  if (inner.length === 0) return own
  return `${own.slice(0, charactersMost.outer)}\n${inner.join('\n')}`
}

/** The errors of an aggregate, then the cause; each with its own behind it. */
function innerLines(error: object, told: Set<unknown>, indent: string): string[] {
  const { cause } = { cause: read(error, 'cause') }
  const all = [
    ...errorsIn(error).map((each) => ({ label: '- ', each })),
    ...(cause === undefined ? [] : [{ label: 'caused by: ', each: cause }]),
  ]
  return all.flatMap(({ label, each }) => {
    if (told.has(each) || told.size > errorsMost) return []
    told.add(each)
    const line = isErrorLike(each) ? withCode(named(each), each) : messageOf(each)
    const deeper = isErrorLike(each) ? innerLines(each, told, `${indent}  `) : []
    return [`${indent}${label}${line.slice(0, charactersMost.inner)}`, ...deeper]
  })
}

/** Its stack. An error without a message of its own gets the one of what is inside it, on the first line. */
function stackOf(error: object): string {
  const [stack, message] = [read(error, 'stack'), read(error, 'message')]
  if (typeof stack === 'string' && typeof message === 'string' && message !== '' && stack.includes(message))
    return stack
  const frames = typeof stack === 'string' ? stack.split('\n').filter((line) => /^\s+at /.test(line)) : []
  return [named(error), ...frames].join('\n')
}

/** `TypeError: message`; the name is left out where it says nothing. */
function named(error: object): string {
  const [name, message] = [read(error, 'name'), messageOf(error)]
  return typeof name === 'string' && name !== '' && name !== 'Error' && name !== message
    ? `${name}: ${message}`
    : message
}

/** Behind the first line, unless the text says it already: `--error ECONNREFUSED` has to find it. */
function withCode(text: string, error: object): string {
  const code = read(error, 'code')
  if ((typeof code !== 'string' && typeof code !== 'number') || code === '' || text.includes(String(code))) return text
  const [first = '', ...rest] = text.split('\n')
  return [`${first} [${code}]`, ...rest].join('\n')
}

function notAnError(thrown: unknown): string {
  for (const told of [() => JSON.stringify(thrown), () => inspect(thrown, { depth: 3, customInspect: false })])
    try {
      return `Thrown, but not an Error: ${told() ?? String(thrown)}`
    } catch {
      // The next way may work.
    }
  return `Thrown, and without a text: ${kindOf(thrown)}`
}
