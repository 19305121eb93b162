// package-lock.json works on every platform and with every registry: all optional packages are in it, no address is.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cure = 'Run: node scripts/complete-lockfile.mjs'
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regrow-lockfile-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function complete(...args: string[]): Promise<{ failed: boolean; output: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['scripts/complete-lockfile.mjs', ...args], {
      cwd: root,
    })
    return { failed: false, output: stdout + stderr }
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return { failed: true, output: stdout + stderr }
  }
}

async function lockfile(packages: Record<string, unknown>): Promise<string> {
  const file = join(folder, `${Math.random()}.json`)
  await writeFile(file, JSON.stringify({ lockfileVersion: 3, packages }))
  return file
}

test('every optional dependency of every package is in the lockfile', async () => {
  const { failed, output } = await complete('--check')
  expect(failed, `npm ci refuses an incomplete lockfile on every platform. ${cure}\n${output}`).toBe(false)
})

test('the lockfile names no registry', async () => {
  const text = await readFile(join(root, 'package-lock.json'), 'utf8')
  const found = text.split('\n').filter((line) => line.includes('"resolved"') || /https?:\/\/[^"]*\.tgz/.test(line))
  expect(found, `The lockfile would tie everyone to the registry of one machine. ${cure}`).toEqual([])
})

test('the check names what is missing and the command that cures it', async () => {
  const file = await lockfile({
    'node_modules/tool': {
      version: '1.0.0',
      dev: true,
      optionalDependencies: { '@tool/linux-arm64-musl': '1.0.0' },
      resolved: 'x',
    },
  })
  const { failed, output } = await complete('--check', file)
  expect(failed).toBe(true)
  expect(output).toContain('missing: node_modules/@tool/linux-arm64-musl')
  expect(output).toContain('"resolved"): node_modules/tool')
  expect(output).toContain(cure)
})

test('completing adds what npm would have written, once', async () => {
  const file = await lockfile({
    'node_modules/tool': {
      version: '1.0.0',
      dev: true,
      optionalDependencies: { '@tool/linux-arm64-musl': '1.0.0' },
      resolved: 'x',
    },
    'node_modules/other': { version: '2.0.0' },
    'node_modules/other/node_modules/tool': {
      version: '2.0.0',
      optionalDependencies: { '@tool/linux-arm64-musl': '2.0.0' },
    },
  })
  await complete(file)
  const first = await readFile(file, 'utf8')
  expect(JSON.parse(first).packages).toEqual({
    'node_modules/@tool/linux-arm64-musl': {
      version: '1.0.0',
      cpu: ['arm64'],
      libc: ['musl'],
      os: ['linux'],
      dev: true,
      optional: true,
    },
    'node_modules/other': { version: '2.0.0' },
    'node_modules/other/node_modules/tool': {
      version: '2.0.0',
      optionalDependencies: { '@tool/linux-arm64-musl': '2.0.0' },
    },
    'node_modules/other/node_modules/tool/node_modules/@tool/linux-arm64-musl': {
      version: '2.0.0',
      cpu: ['arm64'],
      libc: ['musl'],
      os: ['linux'],
      optional: true,
    },
    'node_modules/tool': { version: '1.0.0', dev: true, optionalDependencies: { '@tool/linux-arm64-musl': '1.0.0' } },
  })
  expect(await complete('--check', file)).toMatchObject({ failed: false })
  await complete(file)
  expect(await readFile(file, 'utf8')).toBe(first)
})
