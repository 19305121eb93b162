// The adapter between a suite and vitest: cases run in their order, a skip is reported with its reason.
import { test } from 'vitest'
import type { RunnableCase } from '../../src/testing/index.ts'

/** Declares each case as a test. */
export function declareCases(cases: readonly RunnableCase[]): void {
  for (const { name, skip, run } of cases)
    test(name, async (context) => {
      if (skip !== undefined) context.skip(skip)
      await run()
    })
}
