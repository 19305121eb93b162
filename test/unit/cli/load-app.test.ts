// An app's file that cannot be loaded: the error names the file and the line that threw, also where another file of the project did.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cli } from '../../../src/cli/command.ts'
import { withApp } from '../../../src/cli/open.ts'

let cwd: string
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'regrow-app-'))
  writeFileSync(join(cwd, 'throws.ts'), `export const a: number = 1\n\nthrow new Error('boom')\n`)
  writeFileSync(join(cwd, 'imports.ts'), `import { a } from './throws.ts'\nexport const app = a\n`)
  writeFileSync(join(cwd, 'reads.mjs'), `\n\n\nconst nothing = null\nexport const app = nothing.store\n`)
  writeFileSync(join(cwd, 'syntax.ts'), `\nconst a: = 3\n`)
})
afterAll(() => rmSync(cwd, { recursive: true }))

test.each([
  ['throws.ts', /^throws\.ts could not be loaded: boom \(throws\.ts:3\)$/],
  ['imports.ts', /^imports\.ts could not be loaded: boom \(throws\.ts:3\)$/],
  ['reads.mjs', /^reads\.mjs could not be loaded: Cannot read properties of null .* \(reads\.mjs:5\)$/],
  ['syntax.ts', /^syntax\.ts could not be loaded: [\s\S]*syntax\.ts:2/],
])('%s is told with its place', async (app, says) => {
  const cli = { around: { cwd, sleep: async () => {} } } as unknown as Cli
  const error = await withApp({ app }, cli, async () => {}).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'app_not_loaded' })
  expect((error as Error).message.split('\n  →')[0]).toMatch(says)
})
