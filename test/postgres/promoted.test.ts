// The primary dies and its standby takes over: tables that are not logged are empty there, the queue and its canary among them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../tools/services/index.ts'
import { startProxy, type TcpProxy } from '../services/proxy.ts'
import { Scene } from './scene.ts'

let primary: PostgresServer
let standby: PostgresServer
let proxy: TcpProxy
beforeAll(async () => {
  primary = await startPostgres({ settings: { fsync: false } })
  standby = await startPostgres({ settings: { fsync: false }, standbyOf: primary })
  proxy = await startProxy(primary.port)
})
afterAll(async () => {
  await proxy.close()
  await standby.close()
  await primary.close()
})

test('a promoted standby has no hints and no canary: it is noticed, and the queue grows back there', async () => {
  const place = { url: await primary.createDatabase('moved'), drop: async () => {} }
  const url = new URL(place.url)
  url.port = String(proxy.port)
  await Scene.play(place, { every: '1h', given: () => url.href }, async (scene) => {
    await scene.holding(24)
    await scene.insert(16)
    const [{ lsn } = {}] = await scene.query(`select pg_current_wal_flush_lsn() as lsn`)
    proxy.refuse()
    await scene.moveTo(standby.url('moved'))
    await scene.found(`select 1 where pg_last_wal_replay_lsn() >= $1::pg_lsn`, [lsn])
    await primary.stop('immediate')
    await scene.query(`select pg_promote()`)
    expect(await scene.query(`select 1 from regrow.hints union all select 1 from regrow.canary`)).toEqual([])
    proxy.to(standby.port)
    proxy.pass()
    scene.letGo()
    await scene.until(() => scene.ear.of('queue.lost', { how: 'missing' }).length === 1)
    await scene.allDone()
    await scene.goesOn()
  })
})
