// What tests of the command line on a real Postgres stand on: a database and a project of their own, emptied before each
// test, and a worker that ends with it.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { built, Project, type Running } from './cli.ts'

export interface CliSetting {
  readonly name: string
  /** The user's tables, as SQL. */
  readonly tables: string
  /** Their names: they are emptied before each test, with regrow's own. */
  readonly emptied: string
  readonly env: (url: string) => Record<string, string>
  /** Files of the project. */
  readonly files: Readonly<Record<string, string>>
}

/** Sets up with hooks of the file that calls it; the parts are there when its tests run. */
export function cliOnPostgres({ name, tables, emptied, env, files }: CliSetting) {
  let database: FreshDatabase | undefined
  let client: pg.Client | undefined
  let project: Project | undefined
  let worker: Running | undefined
  const there = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('Only there while tests run')
    return part
  }
  beforeAll(async () => {
    await built()
    database = await freshDatabase(name)
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(tables)
    project = new Project(env(database.url))
    for (const [path, text] of Object.entries(files)) project.write(path, text)
    await project.json(['migrate'])
  }, 180_000)
  beforeEach(() =>
    there(client).query(
      `truncate ${emptied}, regrow.ledger, regrow.workers, regrow.sweeps, regrow.intents, regrow.hints, regrow.audit, regrow.pauses`,
    ),
  )
  afterEach(async () => {
    worker?.child.kill('SIGKILL')
    await worker?.ended
    worker = undefined
  })
  afterAll(async () => {
    project?.remove()
    await client?.end()
    await database?.drop()
  })
  return {
    get client() {
      return there(client)
    },
    get project() {
      return there(project)
    },
    get url() {
      return there(database).url
    },
    /** A `regrow work` that is at work. */
    async started(...args: string[]): Promise<Running> {
      worker = there(project).start('work', ...args)
      await worker.says('working')
      return worker
    },
    /** Asks the database until `text` returns true. */
    async until(text: string): Promise<void> {
      while ((await there(client).query(`select (${text}) as yes, pg_sleep(0.02)::text`)).rows[0]?.yes !== true);
    },
  }
}
