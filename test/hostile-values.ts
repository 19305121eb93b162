// What a handler may throw, and a listener, a client or a proxy may hold: values that resist being read. One list for all tests.
import { RegrowError } from '../src/base/errors.ts'

export interface HostileValue {
  readonly what: string
  /** Makes a new one: some are used up by reading them. */
  readonly make: () => unknown
}

const resists = (): never => {
  throw new Error('this value resists being read')
}

export function revoked<T extends object>(target: T): T {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

/** Whatever is done with it throws. */
export function resisting<T extends object>(target: T): T {
  const traps = Object.getOwnPropertyNames(Reflect).map((name) => [name, resists])
  return new Proxy(target, Object.fromEntries(traps))
}

// The stack comes first: it is made when it is replaced, out of name and message.
const told = ['stack', 'name', 'message', 'code', 'cause', 'errors', 'meta', 'syscall', 'hint', 'toString'] as const

/** An error each of whose properties throws `thrown` where it is read. */
function withThrowingGetters(thrown: () => unknown, error: Error = new Error('hidden')): Error {
  for (const name of told)
    Reflect.defineProperty(error, name, {
      get() {
        throw thrown()
      },
    })
  return error
}

function circle(...errors: Error[]): Error {
  for (const [i, error] of errors.entries()) Object.assign(error, { cause: errors[(i + 1) % errors.length] })
  return errors[0] as Error
}

function inItself(error: AggregateError): Error {
  error.errors.push(error, error)
  return error
}

/** Each of its properties that holds an error holds a new one of its kind. */
function withoutEnd(): Error {
  const error = new Error('one of many')
  for (const name of ['cause', 'meta', 'driverAdapterError', 'driverError'])
    Object.defineProperty(error, name, { get: withoutEnd })
  return Object.defineProperty(error, 'errors', { get: () => [withoutEnd(), withoutEnd()] })
}

function nested(depth: number): object {
  let value: object = {}
  for (let i = 0; i < depth; i++) value = { value }
  return value
}

const withErrors = (errors: unknown) => Object.assign(new Error('several things went wrong'), { errors })
// biome-ignore lint/suspicious/noSparseArray: holes are what this is about.
const holes = (): unknown[] => [, new Error('beside a hole'), ,]

const values: Readonly<Record<string, () => unknown>> = {
  'a revoked proxy': () => revoked({}),
  'a revoked proxy of an error': () => revoked(new Error('gone')),
  'a revoked proxy of a function': () => revoked(() => {}),
  'a proxy whose every trap throws': () => resisting({}),
  'a proxy of an error whose every trap throws': () => resisting(new Error('hidden')),
  'an error whose getters throw': () => withThrowingGetters(() => new Error('no')),
  'an error whose getters throw themselves': () => {
    const error: Error = withThrowingGetters(() => error)
    return error
  },
  'an error whose getters throw a revoked proxy': () => withThrowingGetters(() => revoked({})),
  'an error of regrow whose getters throw': () =>
    withThrowingGetters(() => undefined, new RegrowError('own', 'hidden', 'none')),
  'an error that is its own cause': () => circle(new Error('round')),
  'two errors that cause each other': () => circle(new Error('chicken'), new TypeError('egg')),
  'errors of regrow that cause each other': () =>
    circle(new RegrowError('one', 'first', 'no'), new RegrowError('two', 'second', 'no')),
  'an aggregate that holds itself': () => inItself(new AggregateError([], 'many')),
  'an aggregate without a message that holds itself': () => inItself(new AggregateError([])),
  'an aggregate of nothing': () => new AggregateError([]),
  'an error of errors without end': withoutEnd,
  'an error whose list of errors has holes': () => withErrors(holes()),
  'an aggregate with holes': () => Object.assign(new AggregateError([]), { errors: holes() }),
  'an aggregate whose list of errors is none': () => Object.assign(new AggregateError([], 'many'), { errors: 7 }),
  'an aggregate whose list of errors throws': () => withThrowingGetters(() => new Error('no'), new AggregateError([])),
  'an error whose list of errors is a proxy that throws': () => withErrors(resisting([])),
  'an error whose list of errors is a revoked proxy': () => withErrors(revoked([])),
  'an error with a list of four billion errors': () => withErrors(new Array(2 ** 32 - 1)),
  'an error with a hundred thousand errors': () => withErrors(new Array(100_000).fill(new Error('one'))),
  'an error whose cause is a revoked proxy': () => new Error('outer', { cause: revoked({}) }),
  'an error whose cause is null': () => new Error('outer', { cause: null }),
  'an error with a message of ten million characters': () => new Error('long '.repeat(2_000_000)),
  'an error with a code of a million characters': () =>
    Object.assign(new Error('coded'), { code: 'C'.repeat(1_000_000) }),
  'an error with a symbol as its message': () => Object.assign(new Error('x'), { message: Symbol('message') }),
  'an error with symbols as name, code and stack': () =>
    Object.assign(new Error('named'), { name: Symbol('name'), code: Symbol('code'), stack: Symbol('stack') }),
  'an error whose message has no text': () => Object.assign(new Error('x'), { message: Object.create(null) }),
  'an error without prototype': () => Object.setPrototypeOf(new Error('bare'), null),
  'an error whose constructor throws': () =>
    Object.defineProperty(new Error('made'), 'constructor', { get: resists, configurable: true }),
  undefined: () => undefined,
  null: () => null,
  'an empty text': () => '',
  'a text of NUL and half characters': () => 'a\0b\ud800c',
  'a text of ten million characters': () => 'x'.repeat(10_000_000),
  'a symbol': () => Symbol('thrown'),
  'a symbol without a description': () => Symbol(),
  'a bigint': () => 5n,
  NaN: () => Number.NaN,
  'a function': () => resists,
  'an object without prototype': () => Object.create(null),
  'an object whose conversions throw': () => ({
    toString: resists,
    toJSON: resists,
    valueOf: resists,
    [Symbol.toPrimitive]: resists,
    get [Symbol.toStringTag]() {
      return resists()
    },
  }),
  'an object of a hundred thousand levels': () => nested(100_000),
  'an array with itself inside': () => {
    const array: unknown[] = []
    array.push(array)
    return array
  },
  'a buffer of five million bytes': () => Buffer.alloc(5_000_000),
  'a date that is none': () => new Date(Number.NaN),
  'an object whose then throws': () => ({
    // biome-ignore lint/suspicious/noThenProperty: whoever takes it for a promise meets it.
    get then() {
      return resists()
    },
  }),
}

export const hostileValues: readonly HostileValue[] = Object.entries(values).map(([what, make]) => ({ what, make }))
