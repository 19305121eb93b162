// Progress of a long command: what it shows, where, and how a signal ends it.
import { expect, test } from 'vitest'
import type { Surroundings } from '../../../src/cli/config.ts'
import { fail } from '../../../src/cli/failure.ts'
import { output } from '../../../src/cli/output.ts'
import { Meter, showingProgress } from '../../../src/cli/progress.ts'

/** A command line whose time stands still until a test moves it, and whose signals a test sends. */
function commandLine({ columns, json = false }: { columns?: number; json?: boolean }) {
  const told = { stderr: '', now: 0, signal: (_: NodeJS.Signals) => {} }
  const around = {
    color: false,
    errorScreen: () => (columns === undefined ? undefined : { columns }),
    now: () => told.now,
    write: () => {},
    complain: (text: string) => {
      told.stderr += text
    },
    onSignal: (_: unknown, listener: (signal: NodeJS.Signals) => void) => {
      told.signal = listener
    },
  } as unknown as Surroundings
  return { told, cli: { around, out: output(around, json) } }
}

/** Three pages, three seconds each. */
const threePages =
  (told: { now: number }) =>
  async ({ onProgress }: { onProgress: (progress: { what: string; done: number; total: number }) => void }) => {
    for (const done of [1_000, 2_000, 3_000]) {
      told.now += 3_000
      onProgress({ what: 'mail.send', done, total: 3_000 })
    }
    return 'done'
  }

test('on a terminal one line is written over, cut to its width, and gone at the end', async () => {
  const { told, cli } = commandLine({ columns: 30 })
  expect(await showingProgress(cli, threePages(told))).toEqual({ value: 'done', stopped: false })
  const [, first, second, third, end] = told.stderr.split('\r')
  expect([first, second, third]).toEqual([
    'mail.send: 1,000 of 3,000, 33\u001b[K',
    'mail.send: 2,000 of 3,000, 33\u001b[K',
    'mail.send: 3,000 of 3,000, 33\u001b[K',
  ])
  expect(end).toBe('\u001b[K')
  expect(told.stderr).not.toContain('\n')
})

test('elsewhere a plain line comes every few seconds, and with --json none', async () => {
  const plain = commandLine({})
  await showingProgress(plain.cli, threePages(plain.told))
  expect(plain.told.stderr).toBe('mail.send: 2,000 of 3,000, 333/s, about 3s left\n')
  const json = commandLine({ columns: 80, json: true })
  await showingProgress(json.cli, threePages(json.told))
  expect(json.told.stderr).toBe('')
})

test('the first signal asks for the next page, and what was done until then is the result', async () => {
  const { told, cli } = commandLine({})
  const ended = await showingProgress(cli, async ({ signal }) => {
    told.signal('SIGINT')
    return signal.aborted ? 'as far as it came' : 'all of it'
  })
  expect(ended).toEqual({ value: 'as far as it came', stopped: true })
  expect(told.stderr).toBe('SIGINT: stopping at the next page. Once more: at once\n')
})

test('the second signal waits for nobody; its exit code is 130', async () => {
  const { told, cli } = commandLine({})
  const running = showingProgress(cli, () => new Promise(() => {}))
  told.signal('SIGINT')
  told.signal('SIGTERM')
  const error = await running.catch((thrown: unknown) => thrown)
  expect(fail(error, cli.out, false)).toBe(130)
})

test('the rate is that of the last ten seconds, and the estimate follows it', () => {
  const meter = new Meter(0)
  expect(meter.line({ what: 'a', done: 0, total: 10_000 }, 0)).toBe('a: 0 of 10,000')
  expect(meter.line({ what: 'a', done: 5_000, total: 10_000 }, 5_000)).toBe(
    'a: 5,000 of 10,000, 1,000/s, about 5s left',
  )
  for (let at = 6_000; at <= 30_000; at += 1_000)
    meter.line({ what: 'a', done: 5_000 + (at - 5_000) / 10, total: 10_000 }, at)
  expect(meter.line({ what: 'a', done: 7_600, total: 10_000 }, 31_000)).toBe(
    'a: 7,600 of 10,000, 100/s, about 24s left',
  )
})

test('a guess that was too low is left out, and so is an end that nobody knows', () => {
  const meter = new Meter(0)
  expect(meter.line({ what: 'a', done: 50, total: 20 }, 1_000)).toBe('a: 50, 50/s')
  expect(meter.line({ what: 'b', done: 3, total: null }, 2_000)).toBe('b: 3, 3/s')
  expect(meter.line({ what: 'b\u001b[2J', done: 3, total: null }, 2_000)).toBe('b\\x1b[2J: 3')
})
