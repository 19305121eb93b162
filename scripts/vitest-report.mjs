// A vitest reporter that writes what the last line of `npm test` needs: counts, and each skip with its reason
// (vitest's own JSON report leaves the reasons out).

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'

export default class CountsReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: 0, skipped: [] }
    for (const module of modules) this.#count(module, counts)
    // An error outside of any test fails the run without failing a test.
    counts.failed += unhandledErrors.length
    const file = process.env.REGROW_VITEST_REPORT
    if (!file) return
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify(counts))
  }

  #count(module, counts) {
    const file = relative(process.cwd(), module.moduleId)
    const broken = module.state() === 'failed'
    let failedHere = 0
    for (const test of module.children.allTests()) {
      const result = test.result()
      if (result.state === 'passed') counts.passed += 1
      else if (result.state === 'failed') failedHere += 1
      else
        counts.skipped.push({
          file,
          name: test.fullName,
          reason: reasonOf(test, result, broken),
        })
    }
    // A file that does not load, or a hook that throws, has no failed test to show for it.
    counts.failed += failedHere === 0 && broken ? 1 : failedHere
  }
}

function reasonOf(test, result, broken) {
  if (result.note) return result.note
  if (broken) return 'not run, because its file or a hook failed'
  return test.options.mode === 'todo' ? 'todo' : 'no reason given: call ctx.skip(reason) in the test'
}
