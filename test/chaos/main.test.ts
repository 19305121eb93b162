// `npm run chaos` without a name, or with one that it does not know, lists the long runs.
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const folder = fileURLToPath(new URL('.', import.meta.url))
const names = readdirSync(folder, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []))

/** The exit code, and what was printed to stderr. */
function chaos(...args: string[]): Promise<{ code: unknown; printed: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'jiti/register', `${folder}main.ts`, ...args], (error, _, printed) =>
      resolve({ code: error?.code, printed }),
    )
  })
}

test('without a name it lists every run with its duration, and fails', async () => {
  const { code, printed } = await chaos()
  expect(code).toBe(1)
  const listed = [...printed.matchAll(/^ {2}(\S+) +\d+ .*minutes +\S/gm)].map(([, name]) => name)
  expect(listed.toSorted()).toEqual(names.toSorted())
})

test('an unknown name gets the closest one', async () => {
  const { code, printed } = await chaos('deploys', '--seconds', '1')
  expect(code).toBe(1)
  expect(printed).toMatch(/^There is no run "deploys"; did you mean "deploy"\?$/m)
})

test('an unknown flag of a run gets the known ones', async () => {
  const { code, printed } = await chaos('kill', '--second', '1')
  expect(code).toBe(1)
  expect(printed).toContain('There is no flag --second; expected some of: --seconds 180 --rows 200000')
})
