// A vitest reporter that writes what the last line of `npm test` needs: counts, and each skip with its reason
// (vitest's own JSON report leaves the reasons out).

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'

interface Counts {
  passed: number
  failed: number
  readonly skipped: { file: string; name: string; reason: string }[]
}

export default class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts: Counts = { passed: 0, failed: 0, skipped: [] }
    for (const module of modules) countModule(module, counts)
    // An error outside of any test fails the run without failing a test.
    counts.failed += unhandledErrors.length
    const file = process.env.REGROW_VITEST_REPORT
    if (!file) return
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify(counts))
  }
}

function countModule(module: TestModule, counts: Counts): void {
  const file = relative(process.cwd(), module.moduleId)
  const moduleFailed = module.state() === 'failed'
  let failedHere = 0
  for (const test of module.children.allTests()) {
    const { state } = test.result()
    if (state === 'passed') counts.passed += 1
    else if (state === 'failed') failedHere += 1
    else counts.skipped.push({ file, name: test.fullName, reason: skipReason(test, moduleFailed) })
  }
  // A file that does not load, or a hook that throws, has no failed test to show for it.
  counts.failed += failedHere === 0 && moduleFailed ? 1 : failedHere
}

function skipReason(test: TestCase, moduleFailed: boolean): string {
  const result = test.result()
  if (result.state === 'skipped' && result.note) return result.note
  if (moduleFailed) return 'not run, because its file or a hook failed'
  return test.options.mode === 'todo' ? 'todo' : 'no reason given: call ctx.skip(reason) in the test'
}
