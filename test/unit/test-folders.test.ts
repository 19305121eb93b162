// Where a test is says what it stands on: those that need no server and no other process are quick, and stay so.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const folder = (name: string) => fileURLToPath(new URL(`../${name}/`, import.meta.url))
const texts = (name: string) =>
  readdirSync(folder(name), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => ({ file, text: readFileSync(folder(name) + file, 'utf8') }))

const uses = (what: RegExp) => (name: string) =>
  texts(name).flatMap(({ file, text }) => (what.test(text) ? [`${name}/${file}`] : []))

const servers = uses(/from '[./]+(services\/(database|redis|queue-place)|tools\/services\/index)\.ts'/)
const processes = uses(/from '([./]+processes\/|node:child_process)/)

test('flow tests need no server and no other process', () => {
  expect([...servers('flow'), ...processes('flow')]).toEqual([])
  expect(texts('flow').length).toBeGreaterThan(30)
})

test('the rule can fail: tests of Postgres need a server, those of a fleet processes', () => {
  expect(servers('postgres').length).toBeGreaterThan(20)
  expect(processes('fleet').length).toBeGreaterThan(3)
})
