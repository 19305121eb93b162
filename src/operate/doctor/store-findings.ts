// What is wrong with the store and the way to it. In: its facts. Out: findings. Pure.
import { readable } from '../../base/duration.ts'
import type { StoreFacts } from '../../store/diagnosis.ts'
import type { DoctorFinding } from './finding.ts'
import { whys } from './finding-texts.ts'

/** What its pages of docs promise. */
const serverLeast = 140_000
/** One each for beat and settle, checks, pages, and the queue in the same database. */
const poolLeast = 5
const sessionsMuch = 0.9
/** NTP keeps clocks within milliseconds; seconds are none that anybody keeps. */
const skewMs = 5_000

type Finding = Omit<DoctorFinding, 'why' | 'job' | 'fix'> & { readonly fix?: string; readonly code: keyof typeof whys }

const finding = ({ fix = null, ...given }: Omit<Finding, 'fix'> & { fix?: string | null }): DoctorFinding => ({
  ...given,
  job: null,
  why: whys[given.code],
  fix,
})

export function ofStore(facts: StoreFacts): DoctorFinding[] {
  return [access, schema, server, rights, pooler, pool, sessions].flatMap((judge) => judge(facts)).map(finding)
}

type Judge = (facts: StoreFacts) => Finding[]

const access: Judge = ({ replica, readOnly }) =>
  replica || readOnly
    ? [
        {
          level: 'bad',
          code: 'read_only',
          message: replica ? 'The store is a replica' : 'The store is read-only',
          hint: 'Give the address of the primary, read-write.',
        },
      ]
    : []

const schema: Judge = ({ schema: { found, newest, oldest } }) => {
  if (found === 'hidden') return []
  if (found === 'unknown')
    return [
      {
        level: 'bad',
        code: 'schema_unknown',
        message: "The table regrow.meta holds no version of regrow's schema",
        hint: `Put the number of the last migration back: update regrow.meta set value = '…' where name = 'schema'. This code brings it to ${newest}. Nothing else was examined.`,
      },
    ]
  const versions = `the schema is in version ${found}, this code brings it to ${newest}`
  const hint = 'Run `regrow migrate --store <url>` as a step of the deploy, before the new code starts.'
  if (found < oldest)
    return [
      {
        level: 'bad',
        code: 'schema_old',
        message: found === 0 ? "regrow's tables are not there" : `This code does not start: ${versions}`,
        hint: `${hint} Nothing else was examined.`,
      },
    ]
  if (found < newest) return [{ level: 'warn', code: 'schema_old', message: `A migration is due: ${versions}`, hint }]
  if (found > newest)
    return [
      {
        level: 'note',
        code: 'schema_new',
        message: `This code is older than the tables: ${versions}`,
        hint: 'Call the doctor of the version that is deployed.',
      },
    ]
  return []
}

const server: Judge = ({ serverVersion }) =>
  serverVersion >= serverLeast
    ? []
    : [
        {
          level: 'bad',
          code: 'server_old',
          message: `The server is Postgres ${Math.floor(serverVersion / 10_000)}`,
          hint: 'Upgrade it to 14 or newer.',
        },
      ]

const rights: Judge = ({ rightsMissing, user, schema: { found } }) => {
  if (rightsMissing.length === 0) return []
  const shown = rightsMissing.slice(0, 4).join(', ') + (rightsMissing.length > 4 ? ', …' : '')
  const role = `"${user.replaceAll('"', '""')}"`
  return [
    {
      level: found === 'hidden' ? 'bad' : 'warn',
      code: 'rights_missing',
      message: `The user ${user} lacks ${shown} (schema regrow)${found === 'hidden' ? ', and nothing else was examined' : ''}`,
      hint: 'Grant them if workers connect as this user; a process that only enqueues needs fewer, see docs/postgres.md.',
      fix: `grant usage on schema regrow to ${role};\ngrant select, insert, update, delete on all tables in schema regrow to ${role};`,
    },
  ]
}

const pooler: Judge = ({ connections }) =>
  connections?.pooler
    ? [
        {
          level: 'note',
          code: 'pooler',
          message: 'A pooler stands between this app and the server',
          hint: 'That is fine. For less latency give regrow the address of the server itself.',
        },
      ]
    : []

const pool: Judge = ({ connections }) => {
  if (!connections || connections.from === 'address' || connections.most >= poolLeast) return []
  const { from, most } = connections
  return [
    {
      level: 'warn',
      code: 'pool_small',
      message:
        from === 'client'
          ? 'The store has one client for everything'
          : `The pool that the store was given has ${most} connection${most === 1 ? '' : 's'} at most`,
      hint: `Give postgres() the address, and it makes its own; or a Pool with max: ${poolLeast - 1} and one for each handler that is in ctx.tx at a time.`,
    },
  ]
}

const sessions: Judge = ({ sessions: { open, most } }) =>
  open < sessionsMuch * most
    ? []
    : [
        {
          level: 'warn',
          code: 'connections_few',
          message: `${open} of the server's ${most} connections are in use`,
          hint: 'Raise max_connections, put a pooler between, or lower `max` of postgres().',
        },
      ]

/** `skew`: how far this process's clock is ahead of the store's, in ms. */
export function ofClock(skew: number): DoctorFinding[] {
  if (Math.abs(skew) < skewMs) return []
  const side = skew > 0 ? 'ahead of' : 'behind'
  return [
    finding({
      level: 'warn',
      code: 'clock_skew',
      message: `The clock of this machine is ${readable(Math.abs(Math.round(skew)))} ${side} the database's`,
      hint: 'Let both machines keep time by NTP.',
    }),
  ]
}
