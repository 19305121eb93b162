// The whole text of anything thrown: its stack, its `code`, the errors inside it and its causes, bounded in depth and length.
// A settle must not fail because of what a handler threw, so nothing here throws, and nothing takes long (M44).
import { inspect } from 'node:util'
import { causeOf, errorsIn, isErrorLike, kindOf, messageOf, read } from './errors.ts'

/** Errors that are told of one failure: a chain of causes may be long, and may be a circle. */
const errorsMost = 12
/** Characters of each of them; of the outermost when there are others behind it. */
const charactersMost = { inner: 600, outer: 4_000 }
/** Of the text of one thing; more is not looked at. */
const textMost = 100_000
/** Values inside of something that is no error. */
const valuesMost = 1_000

export function errorText(thrown: unknown): string {
  if (typeof thrown === 'string' && thrown !== '') return thrown.slice(0, textMost)
  if (!isErrorLike(thrown)) return notAnError(thrown)
  const told = new Set<unknown>([thrown])
  const inner = innerLines(thrown, told, '')
  const own = withCode(stackOf(thrown), thrown)
  if (inner.length === 0) return own
  return `${own.slice(0, charactersMost.outer)}\n${inner.join('\n')}`
}

/** The errors of an aggregate, then the cause; each with its own behind it. */
function innerLines(error: object, told: Set<unknown>, indent: string): string[] {
  if (told.size > errorsMost) return []
  const cause = causeOf(error)
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
  const [stack, message] = [cut(read(error, 'stack')), cut(read(error, 'message'))]
  if (stack !== undefined && message !== undefined && message !== '' && stack.includes(message)) return stack
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [named(error), ...frames].join('\n')
}

/** `TypeError: message`; the name is left out where it says nothing. */
function named(error: object): string {
  const [name, message] = [cut(read(error, 'name')), messageOf(error)]
  return name !== undefined && name !== '' && name !== 'Error' && name !== message ? `${name}: ${message}` : message
}

/** As much of a text as is looked at; undefined for anything else. */
const cut = (text: unknown): string | undefined => (typeof text === 'string' ? text.slice(0, textMost) : undefined)

/** Behind the first line, unless the text says it already: `--error ECONNREFUSED` has to find it. */
function withCode(text: string, error: object): string {
  const code = read(error, 'code')
  if ((typeof code !== 'string' && typeof code !== 'number') || code === '' || text.includes(String(code))) return text
  const [first = '', ...rest] = text.split('\n')
  return [`${first} [${String(code).slice(0, charactersMost.inner)}]`, ...rest].join('\n')
}

function notAnError(thrown: unknown): string {
  for (const told of [() => asJson(thrown), () => inspect(thrown, { depth: 3, customInspect: false })])
    try {
      return `Thrown, but not an Error: ${(told() ?? String(thrown)).slice(0, textMost)}`
    } catch {
      // The next way may work.
    }
  return `Thrown, and without a text: ${kindOf(thrown)}`
}

/** Throws for bytes and for what holds too many values: they are told in short. */
function asJson(thrown: unknown): string | undefined {
  if (ArrayBuffer.isView(thrown)) throw new RangeError('bytes')
  let values = 0
  return JSON.stringify(thrown, (_, value: unknown) => {
    if (++values > valuesMost) throw new RangeError('too many values')
    return typeof value === 'string' ? value.slice(0, textMost) : value
  })
}
