// The disk that the tables are on is full, those of the queue and those of the store: who writes is refused, nothing is lost, and
// when there is room again the worker goes on by itself.
import { execFileSync } from 'node:child_process'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../tools/services/index.ts'
import { Scene } from './scene.ts'

let server: PostgresServer
let disk: { folder: string; enlarge(): void; remove(): void } | undefined
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: false } })
  disk = smallDisk(server)
})
afterAll(async () => {
  disk?.remove()
  await server.close()
})

/** A disk of 24 MB, in memory. Undefined where only somebody else may mount one, or the server is not on this machine. */
function smallDisk({ dataDir }: PostgresServer): typeof disk {
  try {
    const { uid, gid } = statSync(dataDir as string)
    const folder = join(dataDir as string, '..', 'small')
    const mount = (options: string) =>
      execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' })
    mkdirSync(folder)
    mount(`size=24m,uid=${uid},gid=${gid},mode=700`)
    return {
      folder,
      enlarge: () => mount('remount,size=64m'),
      remove: () => execFileSync('umount', ['-l', folder]),
    }
  } catch {
    return undefined
  }
}

test('a full disk: hints and intents are refused, which is told; with room again everything is done', async ({
  skip,
}) => {
  if (!disk) return skip('a small disk can be made by root alone, on Linux')
  const { folder, enlarge } = disk
  const client = new pg.Client({ connectionString: server.url() })
  await client.connect()
  await client.query(`create tablespace small location '${folder}'`)
  await client.query(`create database "full" tablespace small`)
  await client.end()
  const place = { url: server.url('full'), drop: () => server.dropDatabase('full') }
  await Scene.play(place, { concurrency: 16 }, async (scene) => {
    await scene.query(`create table filler (x text); alter table filler alter x set storage plain`)
    scene.hold()
    await scene.insert(600)
    await expect(
      scene.query(`insert into filler select repeat('x', 7000) from generate_series(1, 10000)`),
    ).rejects.toMatchObject({ code: '53100' })
    await scene.until(() => scene.ear.of('hint.dropped', { why: 'memory' }).length > 0)
    const taken = await Promise.all(Array.from({ length: 300 }, () => scene.note()))
    expect(taken).toContain(false)
    scene.letGo()
    enlarge()
    await scene.allDone()
    await scene.goesOn()
  })
})
