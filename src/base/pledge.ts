// A promise and what keeps it: Node 20 has no Promise.withResolvers.

export function pledge(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {}
  const promise = new Promise<void>((keep) => {
    resolve = keep
  })
  return { promise, resolve }
}
