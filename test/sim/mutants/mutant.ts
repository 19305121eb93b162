// A bug planted on purpose: one small change of the sources that some check has to find.

/** What looks for a mutant. */
export type Finder =
  /** Histories of the simulator, seed by seed. */
  | { readonly by: 'sim' }
  /** A test file: random sequences on model and server, races on a server, or any other. */
  | { readonly by: 'agreement' | 'race' | 'test'; readonly file: string }

/** A text that is in its file once, and what stands there instead. */
export interface Change {
  readonly file: string
  readonly find: string
  readonly put: string
}

export interface Mutant {
  readonly name: string
  /** What is wrong with it, in words. */
  readonly bug: string
  readonly changes: readonly Change[]
  readonly finder: Finder
}

export const sim: Finder = { by: 'sim' }
export const storeAgreement: Finder = { by: 'agreement', file: 'test/sim/agreement/store.test.ts' }
export const queueAgreement: Finder = { by: 'agreement', file: 'test/sim/agreement/queue.test.ts' }
export const race = (file: string): Finder => ({ by: 'race', file: `test/race/${file}.test.ts` })
export const test = (file: string): Finder => ({ by: 'test', file: `test/${file}.test.ts` })

/** A mutant of one change. */
export const mutant = (name: string, bug: string, file: string, find: string, put: string, finder: Finder): Mutant => ({
  name,
  bug,
  changes: [{ file, find, put }],
  finder,
})

/** The text with the change made; an error when what it looks for is not there exactly once. */
export function changed(text: string, { file, find, put }: Change): string {
  const times = text.split(find).length - 1
  if (times !== 1)
    throw new Error(`${file} has ${times} times what a mutant replaces, expected once; mend the mutant: ${find}`)
  return text.replace(find, () => put)
}
