// A PGlite directory: one process at a time, and what it holds is there again after a crash.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { type App, regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'regrow-directory-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const holder = fileURLToPath(new URL('../processes/directory-holder.ts', import.meta.url))

test('a directory that is open in another process is refused; when that was killed, it is taken over, and closed to other users', async () => {
  const directory = join(folder, 'data')
  const other = fork(holder, [directory], { execArgv: ['--import', 'jiti/register'] })
  await once(other, 'message')
  const app = regrow({ store: pglite(directory) })
  await expect(operate(app).migrate()).rejects.toMatchObject({
    code: 'store_in_use',
    message: expect.stringMatching(
      new RegExp(`is open in process ${other.pid}.*One process at a time.*postgres\\(url\\)`, 's'),
    ),
  })
  const ended = once(other, 'exit')
  other.kill('SIGKILL')
  await ended
  expect(existsSync(`${directory}.lock`)).toBe(true)
  expect(await operate(app).migrate()).toEqual({ from: expect.any(Number), to: expect.any(Number) })

  const mode = () => statSync(directory).mode & 0o777
  expect(mode()).toBe(0o700)

  // Opened a second time in the same process it would be destroyed just as well.
  await expect(operate(regrow({ store: pglite(directory) })).migrate()).rejects.toMatchObject({ code: 'store_in_use' })

  await app.job('mail.send', { input: z.string() }).enqueue('ada')
  await app.close()
  expect(existsSync(`${directory}.lock`)).toBe(false)

  // As an earlier version left it.
  chmodSync(directory, 0o755)
  const again = regrow({ store: pglite(directory) })
  const ear = new Ear(again)
  const sent: string[] = []
  again.job('mail.send', { input: z.string(), run: (to) => void sent.push(to) })
  const worker = again.work()
  await ear.hears('job.settled', { state: 'done' })
  expect(sent).toEqual(['ada'])
  expect(mode()).toBe(0o700)
  await worker.stop()
  await again.close()
})

test('behind a queue that was born empty with its process, a worker sweeps at once, however fresh the last sweep is', async () => {
  const directory = join(folder, 'restart')
  const process = async (during: (app: App, mail: { enqueue(to: string): Promise<unknown> }) => Promise<void>) => {
    const app = regrow({ store: pglite(directory) })
    const mail = app.job('mail.send', { input: z.string(), sweep: { every: '1h' }, run() {} })
    await during(app, mail)
    await app.close()
  }
  const working = async (app: App) => {
    const ear = new Ear(app)
    const worker = app.work()
    await ear.hears('job.settled', { state: 'done' })
    await worker.stop()
  }
  await process(async (app, mail) => {
    await mail.enqueue('ada')
    await working(app)
  })
  await process(async (_app, mail) => void (await mail.enqueue('bob')))
  await process(working)
})
