// The tree keeps to the diagram of the design: who may import whom, where time and environment enter, how files are
// named. A broken rule says why it exists. The second half proves that every rule can fail.

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { rules } from './architecture-rules.ts'
import { scan } from './architecture-scan.ts'

const src = fileURLToPath(new URL('../../src', import.meta.url))

const files = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => scan(relative(src, file).split(sep).join('/'), readFileSync(file, 'utf8')))

/** An interface of nine methods. */
const nineMethods = `export interface Port {\n${[...'abcdefghi'].map((name) => `  ${name}(): void`).join('\n')}\n}\n`

describe('src', () => {
  test('has files to check', () => {
    expect(
      files.length,
      'No source file was found: the rules below would pass without looking at anything.',
    ).toBeGreaterThan(0)
  })

  test.each(rules)('$name', (rule) => {
    const broken = files.flatMap((file) => rule.check(file).map((what) => `src/${file.path} ${what}`))
    expect(broken, `${broken.join('\n')}\nWhy: ${rule.why}\nInstead: ${rule.instead}\n`).toEqual([])
  })
})

describe('a rule that is broken is seen', () => {
  const opening = '// A file.\n'
  const cases: Record<string, { broken: [path: string, code: string][]; kept: [path: string, code: string][] }> = {
    'imports follow the diagram': {
      broken: [
        ['base/loop.ts', `import { x } from '../job/key.ts'`],
        ['job/key.ts', `import type { x } from '../store/ledger.ts'`],
        ['store/ledger.ts', `export { x } from '../queue/hint.ts'`],
        ['queue/push.ts', `import { x } from '../store/ledger.ts'`],
        ['worker/claim.ts', `import { x } from '../sweep/pass.ts'`],
        ['sweep/pass.ts', `const x = await import('../worker/claim.ts')`],
        ['operate/why.ts', `import '../app/regrow.ts'`],
        ['drivers/redis/index.ts', `import { x } from '../../worker/worker.ts'`],
        ['drivers/redis/index.ts', `import { x } from '../postgres/index.ts'`],
        ['app/regrow.ts', `import { x } from '../drivers/postgres/index.ts'`],
        ['worker/claim.ts', `import { x } from '../index.ts'`],
        ['stuff/thing.ts', ''],
      ],
      kept: [
        ['job/key.ts', `import { x } from '../base/loop.ts'`],
        ['worker/claim.ts', `import { x } from '../store/ledger.ts'\nimport { y } from './stages.ts'`],
        ['app/regrow.ts', `import { x } from '../worker/worker.ts'`],
        ['index.ts', `export { regrow } from './app/regrow.ts'`],
        ['drivers/redis/index.ts', `import { x } from '../../queue/hint.ts'`],
        ['base/loop.ts', `// import { x } from '../job/key.ts'\nconst t = \`import { x } from '../job/key.ts'\``],
      ],
    },
    'only postgres and pglite know drivers/postgres/store': {
      broken: [
        ['store/ledger.ts', `import { x } from '../drivers/postgres/store/store.ts'`],
        ['drivers/redis/index.ts', `import { x } from '../postgres/store/store.ts'`],
        ['index.ts', `export { x } from './drivers/postgres/store/store.ts'`],
        ['cli/main.ts', `import { x } from '../drivers/postgres/store/store.ts'`],
      ],
      kept: [
        ['drivers/postgres/index.ts', `import { x } from './store/store.ts'`],
        ['drivers/pglite/index.ts', `import { x } from '../postgres/store/store.ts'`],
        ['drivers/postgres/store/claims/claims.ts', `import { x } from '../statements.gen.ts'`],
      ],
    },
    'dashboard, cli and testing': {
      broken: [
        ['cli/main.ts', `import { x } from '../operate/why.ts'`],
        ['dashboard/index.ts', `import type { x } from '../store/ledger.ts'`],
        ['testing/index.ts', `import { x } from '../store/ledger.ts'`],
        ['testing/index.ts', `import { x } from '../drivers/memory/queue.ts'`],
        ['testing/index.ts', `import { x } from '../base/duration.ts'`],
      ],
      kept: [
        ['cli/main.ts', `import { x } from '../index.ts'\nimport { y } from './config.ts'`],
        ['cli/main.ts', `import { x } from '../operate/index.ts'\nimport { y } from '../base/duration.ts'`],
        ['testing/index.ts', `import { x } from '../drivers/index.ts'`],
        [
          'testing/index.ts',
          `import type { x } from '../store/ledger.ts'\nimport { y } from '../drivers/memory/index.ts'`,
        ],
      ],
    },
    'the stages of a worker': {
      broken: [
        ['worker/claim.ts', `import { x } from './settle.ts'`],
        ['worker/heartbeat.ts', `import type { x } from './settle.ts'`],
        ['app/regrow.ts', `import { x } from '../worker/run/run.ts'`],
      ],
      kept: [
        ['worker/pipeline.ts', `import { x } from './claim.ts'`],
        ['app/regrow.ts', `import { x } from '../worker/worker.ts'`],
      ],
    },
    'a package is known in one room': {
      broken: [
        ['worker/run/run.ts', `import pg from 'pg'`],
        ['base/loop.ts', `import x from 'left-pad'`],
        ['drivers/pglite/index.ts', `const x = await import('pg')`],
      ],
      kept: [
        ['drivers/pglite/index.ts', `const x = await import('@electric-sql/pglite/vector')`],
        ['base/random.ts', `import { x } from 'node:crypto'`],
        ['cli/init.ts', `const file = \`import { regrow } from 'regrow'\``],
      ],
    },
    'time and chance': {
      broken: [
        ['worker/run/run.ts', 'const t = Date.now()'],
        ['worker/run/run.ts', 'const t = new Date()'],
        ['queue/memory.ts', 'setTimeout(() => {}, 1)'],
        ['sweep/pass.ts', `const n = \`\${Math.random()}\``],
      ],
      kept: [
        ['base/clock.ts', 'const t = Date.now()'],
        ['cli/config.ts', 'setInterval(() => {}, 1)'],
        [
          'worker/run/run.ts',
          'const t = new Date(at) // never Date.now()\nconst s = "Math.random()"\nconst r = /setTimeout/',
        ],
      ],
    },
    'the environment': {
      broken: [
        ['index.ts', 'const url = process.env.DATABASE_URL'],
        ['cli/run.ts', 'const url = process.env.DATABASE_URL'],
      ],
      kept: [['cli/config.ts', 'const url = process.env.DATABASE_URL']],
    },
    'no SQLSTATE outside the drivers': {
      broken: [
        ['store/errors.ts', `if (code === '40P01') return`],
        ['worker/settle.ts', `const refused = /^(22|23|54|P0)/`],
        ['operate/doctor/doctor.ts', 'if (/^42/.test(code)) return'],
        ['enqueue/held.ts', 'if (sqlState(error) !== undefined) return'],
      ],
      kept: [
        ['drivers/postgres/store/errors.ts', `if (sqlState(error) === '40P01') return`],
        ['worker/settle.ts', `if (store.classify(error) === 'conflict') return`],
        ['store/errors.ts', `const codes = ['EPIPE', '32767', '-32768']`],
      ],
    },
    'no SQL type outside the drivers': {
      broken: [
        ['worker/claim.ts', `import type { SqlQuery } from '../job/pending.ts'`],
        ['store/ledger.ts', 'export interface Ledger { settle(tx: SqlExecutor): void }'],
      ],
      kept: [
        ['drivers/postgres/store/store.ts', 'let db: SqlDatabase'],
        ['job/pending.ts', 'export interface SqlQuery {}'],
      ],
    },
    'a port has at most eight methods': {
      broken: [
        ['store/ledger.ts', nineMethods],
        ['queue/queue.ts', nineMethods.replace('  i(): void', '  readonly i?: (() => void) | undefined')],
        ['store/ledger.ts', nineMethods.replace('  i(): void', '  i<T>(fn: (tx: T) => Promise<T>): Promise<T>')],
      ],
      kept: [
        ['store/ledger.ts', nineMethods.replace('  i(): void', '  readonly i: boolean')],
        ['worker/claim.ts', nineMethods],
      ],
    },
    'no SQL in the cases of the store suite': {
      broken: [
        ['testing/store/take.ts', 'await query(`select key from regrow.ledger`)'],
        ['testing/store/take.ts', `await context.query("delete from ledger where key = 'x'")`],
        ['testing/store-suite.ts', "const text = 'create table things (id text)'"],
        ['testing/store/source.ts', "const text = 'state = $1::text'"],
      ],
      kept: [
        ['testing/postgres-database.ts', 'await query(`truncate regrow.ledger`)'],
        ['testing/store/take.ts', "await context.database.own('ledger').remove({ key: 'x' })"],
        ['testing/store/inspector.ts', "await take(context, 'w1', ['k'], 'regrow.slots')"],
      ],
    },
    'a file is named': {
      broken: [
        ['worker/utils.ts', ''],
        ['worker/takeKeys.ts', ''],
        ['helpers/thing.ts', ''],
        ['job/job-manager.ts', ''],
      ],
      kept: [['drivers/postgres/store/statements.gen.ts', '']],
    },
    'no file is longer': {
      broken: [['job/key.ts', '\nx'.repeat(350)]],
      kept: [
        ['job/key.ts', '\nx'.repeat(348)],
        ['job/key.gen.ts', '\nx'.repeat(999)],
      ],
    },
  }

  for (const [begin, { broken, kept }] of Object.entries(cases)) {
    const rule = rules.find((each) => each.name.startsWith(begin))
    test.each(broken)(`${begin}: broken by %s with %j`, (path, code) => {
      expect(rule?.check(scan(path, opening + code))).not.toEqual([])
    })
    test.each(kept)(`${begin}: kept by %s with %j`, (path, code) => {
      expect(rule?.check(scan(path, opening + code))).toEqual([])
    })
  }

  test('every file opens with a comment: broken by code in the first line, kept below a #! line', () => {
    const rule = rules.find((each) => each.name.startsWith('every file opens'))
    expect(rule?.check(scan('job/key.ts', 'const x = 1\n// late'))).not.toEqual([])
    expect(rule?.check(scan('cli/main.ts', '#!/usr/bin/env node\n// The CLI.\n'))).toEqual([])
  })

  test('every rule has such a proof', () => {
    const proven = [...Object.keys(cases), 'every file opens']
    expect(rules.filter((rule) => !proven.some((begin) => rule.name.startsWith(begin)))).toEqual([])
  })
})
