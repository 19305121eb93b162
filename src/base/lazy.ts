// A value that is made on first use; a failure is forgotten, so that the next use tries again.

/** Makes a value on first call. `peek` makes nothing: it answers the value, or undefined when there is none. */
export interface Once<T> {
  (): Promise<T>
  peek(): Promise<T | undefined>
}

export function once<T>(make: () => Promise<T>): Once<T> {
  let made: Promise<T> | undefined
  const get = () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
  return Object.assign(get, { peek: async () => made?.catch(() => undefined) })
}
