// What a callback of the user's answers: it may be a promise, also of another realm or library.

export const isThenable = (answer: unknown): answer is PromiseLike<unknown> =>
  ((typeof answer === 'object' && answer !== null) || typeof answer === 'function') && 'then' in answer

/** `failed` hears why, when the answer is a promise that rejects: nobody else waits for it, and it would end the process. */
export function ifRejected(answer: unknown, failed: (error: unknown) => void): void {
  if (answer === undefined) return
  try {
    if (isThenable(answer)) Promise.resolve(answer).then(undefined, failed)
  } catch (error) {
    failed(error)
  }
}
