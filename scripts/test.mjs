// `npm test`: makes the checkout ready, runs every check, and ends with one line, "N passed, N failed". A check that
// fails does not stop the ones after it. `npm test -- flow` runs only the vitest files that match "flow".
// Plain JavaScript: it runs before any package is installed.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npm } from './npm.mjs'
import { runCommand } from './run-command.mjs'
import { buildIfChanged, install } from './setup.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'regrow-test-'))
const report = join(scratch, 'vitest.json')
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
const filters = process.argv.slice(2)

// Not what the caller's shell says: NODE_ENV=production changes how libraries behave under test.
const env = { ...process.env, NODE_ENV: 'test', REGROW_VITEST_REPORT: report }

const checks = [
  ['build', buildIfChanged],
  ['types', () => tool('typescript/bin/tsc', '-p', 'tsconfig.json')],
  ['lint and format', () => tool('@biomejs/biome/bin/biome', 'check', '--error-on-warnings')],
  ['generated files are fresh', () => node('scripts/embed.mjs', '--check')],
  ['no unused files, exports or dependencies', () => tool('knip/bin/knip.js', '--no-config-hints')],
  ['package.json fits the package', () => tool('publint/src/cli.js', '--strict', '--pack', 'npm')],
  ['types resolve for users', attw],
]

const total = { passed: 0, failed: 0, skipped: [] }
console.log('regrow: testing')
try {
  await install()
  if (filters.length === 0) for (const [name, check] of checks) await step(name, check)
  await step('tests', vitest)
} catch (error) {
  console.error(error.message)
  total.failed += 1
}

for (const { file, name, reason } of total.skipped) console.log(`skipped: ${file}: ${name}: ${reason}`)
const skipped = total.skipped.length > 0 ? `, ${total.skipped.length} skipped` : ''
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`)
process.exitCode = total.failed > 0 ? 1 : 0

/** A check counts as one; the tests count for themselves. */
async function step(name, check) {
  console.log(`\n=== ${name}`)
  const began = performance.now()
  let ok = true
  try {
    const counts = await check()
    if (counts) {
      total.passed += counts.passed
      total.failed += counts.failed
      total.skipped.push(...counts.skipped)
      ok = counts.failed === 0
    } else total.passed += 1
  } catch (error) {
    console.error(error.message)
    total.failed += 1
    ok = false
  }
  console.log(`=== ${name}: ${ok ? 'ok' : 'FAILED'}, ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

/** @param {string} file inside node_modules: npx would look elsewhere when it is missing */
function tool(file, ...args) {
  return node(join('node_modules', file), ...args)
}

async function node(file, ...args) {
  const { ok, how } = await runCommand(process.execPath, [file, ...args], { cwd: root, env })
  if (!ok) throw new Error(`${file} ${how}`)
}

async function attw() {
  const folder = join(scratch, 'pack')
  mkdirSync(folder)
  const [packed] = JSON.parse(
    await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: root }),
  )
  await tool(
    '@arethetypeswrong/cli/dist/index.js',
    join(folder, packed.filename),
    '--profile',
    'esm-only',
    '--no-color',
  )
}

async function vitest() {
  const reporters = ['--reporter=default', `--reporter=${join(root, 'tools', 'vitest-report.ts')}`]
  const args = [join('node_modules', 'vitest', 'vitest.mjs'), 'run', ...reporters, ...filters]
  const { ok, how } = await runCommand(process.execPath, args, { cwd: root, env })
  if (!existsSync(report)) throw new Error(`vitest ${how} before any test ran`)
  const counts = JSON.parse(readFileSync(report, 'utf8'))
  // Whatever else vitest fails a run for.
  if (!ok && counts.failed === 0) counts.failed = 1
  return counts
}
