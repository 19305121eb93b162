// An object whose code is loaded by the first call of one of its methods. All of them answer promises.

import { once } from './lazy.ts'

/** Names of methods, and those of objects inside; the compiler asks for every one of them. */
export type MethodNames<T> = {
  readonly [Name in keyof T]-?: T[Name] extends (...args: never) => unknown ? true : MethodNames<T[Name]>
}

/** `load` makes the object; it is asked again after a failure. */
export function lazyMethods<T extends object>(load: () => Promise<T>, names: MethodNames<T>): T {
  const get = once(load)
  const member = ([name, inside]: [string, unknown]) => {
    const at = name as keyof T
    if (inside !== true)
      return [name, lazyMethods(async () => (await get())[at] as object, inside as MethodNames<object>)]
    return [name, async (...args: unknown[]) => ((await get()) as Record<keyof T, Method>)[at](...args)]
  }
  return Object.fromEntries(Object.entries(names).map(member)) as T
}

type Method = (...args: unknown[]) => unknown
