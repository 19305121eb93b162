// The rules of the source tree, each with the reason it exists and what to do instead. Checked by
// architecture.test.ts, which also proves that each of them can fail.

import type { Import, SourceFile } from './architecture-scan.ts'

export interface Rule {
  readonly name: string
  readonly why: string
  readonly instead: string
  /** What breaks the rule in this file, in words; nothing when it is kept. */
  check(file: SourceFile): string[]
}

const STEPS = ['enqueue', 'worker', 'sweep', 'schedule', 'operate']
const STAGES = ['worker/claim.ts', 'worker/run/run.ts', 'worker/settle.ts']
const CORE = ['base', 'job', 'store', 'queue']
const POSTGRES_STORE = 'drivers/postgres/store'
const SQL_ROOM = 'drivers/sql'

/** What each room may import besides itself. A driver is a room of its own: `drivers/redis`; so is the store of Postgres. */
const ROOMS: Record<string, readonly string[]> = {
  base: [],
  job: ['base'],
  store: ['base', 'job'],
  queue: ['base', 'job'],
  ...Object.fromEntries(STEPS.map((step) => [step, CORE])),
  app: [...CORE, ...STEPS, 'drivers'],
  'index.ts': [...CORE, ...STEPS, 'drivers', 'app'],
  'operate/index.ts': [...CORE, ...STEPS, 'app'],
  // drivers/driver.ts is the port that every driver fills; the folders beside it are the drivers.
  drivers: [...CORE, 'drivers'],
  // How drivers speak SQL to whatever client they have.
  [SQL_ROOM]: CORE,
  [POSTGRES_STORE]: ['base', 'job', 'store', SQL_ROOM],
  'drivers/postgres': [...CORE, 'drivers', SQL_ROOM, POSTGRES_STORE],
  'drivers/pglite': [...CORE, 'drivers', SQL_ROOM, POSTGRES_STORE],
}

/** Packages and the rooms that may know them. */
const PACKAGES: Record<string, readonly string[]> = {
  '@standard-schema/spec': ['job', 'enqueue', 'index.ts', 'app'],
  pg: ['drivers/postgres'],
  '@electric-sql/pglite': ['drivers/pglite'],
  '@redis/client': ['drivers/redis'],
  '@clack/prompts': ['cli'],
  citty: ['cli'],
  jiti: ['cli'],
  picocolors: ['cli'],
}

/** A quoted code of a class that Postgres has, with a digit in it; or the classes of a pattern such as /^(22|23)/. */
const SQLSTATE =
  /(['"])(?:0[0-9ABFLPZ]|2[0-8BDF]|3[489BDF]|4[024]|5[345678]|72|F0|HV|P0|XX)(?=[0-9A-Z]*\d)[0-9A-Z]{3}\1|\/\^\(?(?:0A|2[0-8]|4[02]|5[3-8]|P0|XX)[|)/]/g

/** How statements and what they are made of begin, and casts. */
const SQL =
  /\b(?:select\s+[\w*(].*?\bfrom|insert into|update \w+(?:\.\w+)* set|delete from|truncate|(?:create|drop|alter) (?:table|schema|index|function))\b|::(?:text|int|bigint|uuid|jsonb|timestamptz)\b|\bregrow(?:_testing)?\.(?!slots)[a-z]+\b/g

const OUTER = ['cli', 'dashboard', 'testing']

function roomOf(path: string): string {
  const parts = path.split('/')
  if (path.startsWith(`${POSTGRES_STORE}/`)) return POSTGRES_STORE
  if (path === 'operate/index.ts') return path
  if (parts[0] === 'drivers' && parts.length > 2) return `drivers/${parts[1]}`
  return parts[0] as string
}

function importsThat(file: SourceFile, breaks: (target: string, room: string, imported: Import) => boolean): string[] {
  return file.imports
    .filter((each) => each.target !== undefined && breaks(each.target, roomOf(each.target), each))
    .map((each) => `imports ${each.target}`)
}

function uses(file: SourceFile, pattern: RegExp): string[] {
  return [...file.code.matchAll(pattern)].map((match) => {
    const line = file.code.slice(0, match.index).split('\n').length
    return `uses ${match[0]} in line ${line}`
  })
}

/** Exported interfaces and their methods, also those that are written as properties. */
function interfacesIn(text: string): { name: string; methods: string[] }[] {
  return [...text.matchAll(/^export interface (\w+)[^{]*\{\n([\s\S]*?)^\}/gm)].map(([, name, body]) => ({
    name: name as string,
    methods: [...(body as string).matchAll(/^ {2}(?:readonly )?(\w+)\??(?:<[^>]*>)?(?:\(|: \(*(?:<[^>]*>)?\()/gm)].map(
      ([, method]) => method as string,
    ),
  }))
}

const isDoor = (target: string): boolean => /^(?:operate\/|drivers\/(?:[^/]+\/)?)?index\.ts$/.test(target)

export const rules: readonly Rule[] = [
  {
    name: 'imports follow the diagram: base ← job ← store, queue ← enqueue | worker | sweep | schedule | operate ← app',
    why: 'The two arrows meet only at the ports Store and Queue; an import against the direction makes the parts one lump that cannot be tested or swapped alone.',
    instead: 'Move what both need down (base, job, a port), or pass it in where src/app wires the parts.',
    check(file) {
      const own = roomOf(file.path)
      if (OUTER.includes(own)) return []
      const allowed = ROOMS[own] ?? (own.startsWith('drivers/') ? ROOMS.drivers : undefined)
      if (allowed === undefined) return [`is in "${own}", which is no room of the diagram`]
      return importsThat(file, (_target, room) => room !== own && room !== POSTGRES_STORE && !allowed.includes(room))
    },
  },
  {
    name: 'only postgres and pglite know drivers/postgres/store',
    why: 'It is one implementation of the Store ports; whoever else imports it makes SQL a requirement of the core.',
    instead: 'Use the port in src/store; if it lacks something, add it there.',
    check(file) {
      const own = roomOf(file.path)
      if (own === POSTGRES_STORE || ROOMS[own]?.includes(POSTGRES_STORE)) return []
      return importsThat(file, (_target, room) => room === POSTGRES_STORE)
    },
  },
  {
    name: 'dashboard, cli and testing use the front doors only',
    why: 'They are users like any other: what they need, users need too, and it has to be public.',
    instead:
      'Export it from src/index.ts, src/operate/index.ts, src/drivers/index.ts or the index of a driver. cli and dashboard may also import src/base, testing may `import type` the ports of src/store and src/queue.',
    check(file) {
      const own = roomOf(file.path)
      if (!OUTER.includes(own)) return []
      const isPort = (room: string, each: Import): boolean =>
        own === 'testing' && each.typeOnly && (room === 'store' || room === 'queue')
      const isText = (room: string): boolean => own !== 'testing' && room === 'base'
      return importsThat(
        file,
        (target, room, each) => room !== own && !isDoor(target) && !isPort(room, each) && !isText(room),
      )
    },
  },
  {
    name: 'the stages of a worker know nothing of each other, and only pipeline.ts knows their order',
    why: 'claim, run and settle each turn a batch into a batch; the safety argument is their order, and it can only be read if one file holds it.',
    instead: 'Return what the next stage needs, and let worker/pipeline.ts hand it on.',
    check(file) {
      if (file.path === 'worker/pipeline.ts') return []
      return importsThat(file, (target) => STAGES.includes(target) && target !== file.path)
    },
  },
  {
    name: 'a package is known in one room',
    why: 'A client library that leaks out of its driver becomes a dependency of everyone; each package here is one more that users install.',
    instead:
      'Keep it behind the port. A new dependency on purpose: add it to PACKAGES in test/unit/architecture-rules.ts with its room.',
    check(file) {
      const own = roomOf(file.path)
      return file.imports
        .filter((each) => each.target === undefined && !each.spec.startsWith('node:'))
        .filter((each) => !PACKAGES[packageOf(each.spec)]?.includes(own))
        .map((each) => `imports the package ${each.spec}`)
    },
  },
  {
    name: 'time and chance enter by base/clock.ts, base/random.ts and cli/config.ts',
    why: "Tests and the simulator replace both; a call around them cannot be replayed, and a worker's own wall clock must never decide what is due.",
    instead: 'Take a Clock or a Random as an argument.',
    check(file) {
      if (['base/clock.ts', 'base/random.ts', 'cli/config.ts'].includes(file.path)) return []
      return uses(
        file,
        /\bDate\.now\b|\bMath\.random\b|\bset(?:Timeout|Interval|Immediate)\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bhrtime\b|\brandom(?:UUID|Bytes|Int)\b/g,
      )
    },
  },
  {
    name: 'the environment enters by base/process-info.ts and cli/config.ts',
    why: 'A library that reads process.env behaves differently on two machines for no visible reason.',
    instead: 'Make it an option; the CLI fills options from the environment.',
    check: (file) =>
      ['base/process-info.ts', 'cli/config.ts'].includes(file.path) ? [] : uses(file, /\bprocess\.env\b/g),
  },
  {
    name: 'no SQLSTATE outside the drivers',
    why: 'Another family of databases has other codes; core that reads them decides wrongly, or not at all, for its errors.',
    instead: 'Ask `store.classify(error)`; where its kinds say too little, add one to src/store/errors.ts.',
    check(file) {
      if (file.path.startsWith('drivers/')) return []
      const states = [...file.text.matchAll(SQLSTATE)].map(([found]) => `holds the SQLSTATE ${found}`)
      return [...states, ...uses(file, /\bsqlState\b/g)]
    },
  },
  {
    name: 'no SQL type outside the drivers and what users write',
    why: 'A port that passes statements can be served by one family of databases only, and its caller decides what that driver should.',
    instead:
      'Name the verb in the port, and pass an opaque value (job/receipt.ts, job/server-page.ts, store/transaction.ts).',
    check: (file) =>
      /^(drivers|job)\/|^index\.ts$/.test(file.path) ? [] : uses(file, /\bSql(?:Query|Value|Executor|Database)\b/g),
  },
  {
    name: 'a port has at most eight methods',
    why: 'Every driver implements all of them, and every wrapper has to be right for each.',
    instead: 'Cut the port by what its readers need; what only some drivers can do is an optional port of its own.',
    check(file) {
      if (!/^(store|queue)\/[^/]+\.ts$|^drivers\/driver\.ts$/.test(file.path)) return []
      return interfacesIn(file.text)
        .filter(({ methods }) => methods.length > 8)
        .map(({ name, methods }) => `${name} has ${methods.length} methods: ${methods.join(', ')}`)
    },
  },
  {
    name: 'no SQL in the cases of the store suite',
    why: 'A store in another family of databases keeps the same rules; a case that speaks SQL can only judge one family.',
    instead:
      'Use a verb of `context.database` (src/testing/store-database.ts); where none fits, add one and write it in src/testing/postgres-database.ts.',
    check(file) {
      if (!/^testing\/(store\/|store-)/.test(file.path)) return []
      return [...file.text.matchAll(SQL)].map(([found]) => `holds "${found}"`)
    },
  },
  {
    name: 'a file is named after its one main export, in kebab-case',
    why: 'The tree is the diagram: utils, helpers and types are where things go that nobody finds again.',
    instead: 'Name the one thing the file holds; if it holds several, split it.',
    check(file) {
      const vague = ['util', 'utils', 'helper', 'helpers', 'common', 'types', 'misc', 'manager', 'service', 'services']
      return file.path.split('/').flatMap((part) => {
        const stem = part.replace(/(\.gen)?\.ts$/, '')
        const found = stem.split('-').filter((word) => vague.includes(word))
        if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(stem)) return [`"${part}" is not kebab-case`]
        return found.map((word) => `"${part}" says "${word}"`)
      })
    },
  },
  {
    name: 'no file is longer than 350 lines',
    why: 'A file that long holds more than one thing, and nobody reads it to the end.',
    instead: 'Cut it where a second noun begins.',
    check(file) {
      const lines = file.text.trimEnd().split('\n').length
      return file.path.endsWith('.gen.ts') || lines <= 350 ? [] : [`has ${lines} lines`]
    },
  },
  {
    name: 'every file opens with a comment',
    why: 'One to six lines that say which arrow and step this is spare the reader the search.',
    instead: 'Say in the first lines what comes in and what goes out.',
    check: (file) => (/^(#!.*\n)?\s*(\/\/|\/\*)/.test(file.text) ? [] : ['opens without a comment']),
  },
]

function packageOf(spec: string): string {
  return spec
    .split('/')
    .slice(0, spec.startsWith('@') ? 2 : 1)
    .join('/')
}
