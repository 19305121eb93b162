// A value that is made on first use; a failure is forgotten, so that the next use tries again.

export function once<T>(make: () => Promise<T>): { (): Promise<T>; readonly begun: boolean } {
  let made: Promise<T> | undefined
  const get = () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
  return Object.defineProperty(get, 'begun', { get: () => made !== undefined }) as typeof get & {
    readonly begun: boolean
  }
}
