// Errors of Postgres, of the clients that speak to it and of ORMs above them. The SQLSTATEs that regrow knows are here.
import { aggregated, messageOf, RegrowError, read } from '../../../base/errors.ts'
import { connectionAdvice, isForeign, isUnreachable, type StoreErrorKind } from '../../../store/errors.ts'

/** Where clients keep the error of the server: pg and Drizzle, Prisma, TypeORM. */
const inner = ['cause', 'meta', 'driverAdapterError', 'driverError'] as const
/** A driver of Prisma calls it so; its `code` may be a word of its own. */
const codes = ['originalCode', 'code'] as const

/** Errors hold each other; more of them than this, and deeper ones, no client would make. */
const most = { depth: 6, errors: 50 }

/** SQLSTATE of an error, wherever a client keeps it; undefined when the server gave none. */
export const sqlState = (error: unknown): string | undefined => stateIn(error, 0, new Set())

function stateIn(error: unknown, depth: number, seen: Set<unknown>): string | undefined {
  if (typeof error !== 'object' || error === null || depth > most.depth) return undefined
  if (seen.has(error) || seen.size >= most.errors) return undefined
  seen.add(error)
  const state = codes.map((name) => read(error, name)).find(isSqlState)
  if (state !== undefined) return state
  for (const name of inner) {
    const found = stateIn(read(error, name), depth + 1, seen)
    if (found !== undefined) return found
  }
  return undefined
}

/** Five characters with a digit among them: `EPIPE` is of a socket, and P1001 to P6999 are numbers of Prisma. */
const isSqlState = (code: unknown): code is string =>
  typeof code === 'string' && /^(?=.*\d)(?!P[1-9]\d{3}$)[0-9A-Z]{5}$/.test(code)

/** The first pattern that a state fits decides. */
const kinds: readonly (readonly [RegExp, StoreErrorKind])[] = [
  [/^(40P01|40001)$/, 'conflict'],
  [/^55P03$/, 'lock_timeout'],
  [/^57014$/, 'timeout'],
  // Data, constraints, limits of the server, `raise` in PL/pgSQL.
  [/^(22|23|54|P0)/, 'bad_row'],
  [/^42/, 'mistake'],
  [/^0A/, 'unsupported'],
  // Authentication; the database does not exist.
  [/^(28|3D)/, 'refused'],
  [/^XX/, 'internal'],
  // Connections fail (08), resources run out (53), the server stops, starts (57) or fails (58), transactions are rolled back (40).
  [/^(08|53|57|58|40)/, 'away'],
]

/** PgBouncer answers with the state of a broken protocol whatever is wrong. */
const refusedTexts = /no such (?:database|user)|does not exist|(?:password )?authentication failed|not allowed|pg_hba/i

/** The client gives up before the server refuses it, and says so by a text alone. */
const refusedByClient = /\bSASL\b|\bSSL connection/

/** `Store.classify` of Postgres and PGlite. */
export function classify(error: unknown): StoreErrorKind {
  const all = aggregated(error).map(kindOf)
  return all.includes('away') ? 'away' : (all.find((kind) => kind !== 'foreign') ?? kindOf(error))
}

/** Of an error by itself. */
function kindOf(error: unknown): StoreErrorKind {
  if (error instanceof RegrowError && error.code === 'not_connected') return 'closed'
  const state = sqlState(error)
  if (state === '08P01' && refusedTexts.test(messageOf(error))) return 'refused'
  if (state !== undefined) return kinds.find(([pattern]) => pattern.test(state))?.[1] ?? 'unknown'
  if (isUnreachable(error)) return 'away'
  if (refusedByClient.test(messageOf(error))) return 'refused'
  return isForeign(error) ? 'foreign' : 'unknown'
}

const advice: Readonly<Record<string, string>> = {
  '28P01': 'User or password is wrong.',
  '28000': 'The server does not let this user in: see its pg_hba.conf.',
  '3D000': 'There is no database of that name on the server.',
  '42501': 'This user lacks a right. `regrow migrate` needs to create a schema; the rest needs to write to it.',
}

const passwordMissing = 'The server asks for a password, and the address has none.'

/** What to do about an error of a connection or its server, where it is known. */
export function adviceOn(error: unknown): string | undefined {
  const state = sqlState(error)
  if (state !== undefined && Object.hasOwn(advice, state)) return advice[state]
  const known = connectionAdvice(error)
  if (known !== undefined) return known
  // The client says so before the server does, without a code.
  return /\bSASL\b.*\bpassword must be\b/.test(messageOf(error)) ? passwordMissing : undefined
}
