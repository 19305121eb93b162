// What is wrong when a store cannot be opened: away for now, which is waited for, or a mistake that another try only repeats.
import { messageOf, RegrowError } from '../base/errors.ts'
import { sqlState } from './sql-client.ts'

/** Connections fail (08), resources run out (53), the server stops, starts or cancels (57), fails itself (58), or is busy (40, 55P03). */
const passingStates = /^(08|53|57|58|40)|^55P03$/

const passingCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  // The name server did not answer; ENOTFOUND means that it did.
  'EAI_AGAIN',
  // Neither files nor sockets left.
  'EMFILE',
  'ENFILE',
])

/** Clients report a connection that broke, or that took too long, by a text alone. */
const passingTexts = /\b(timeout|timed out|terminated|connection (?:was )?(?:closed|ended|lost)|socket hang up)\b/i

/** PgBouncer answers with the state of a broken protocol whatever is wrong. */
const mistakenTexts = /no such (?:database|user)|does not exist|(?:password )?authentication failed|not allowed|pg_hba/i

/** True when the store is away, starting or overloaded: the same call may succeed later. */
export function isAway(error: unknown): boolean {
  if (error instanceof RegrowError)
    return error.code === 'deadline' || (['store_away', 'url_failed'].includes(error.code) && causeIsAway(error))
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.some(isAway)
  const state = sqlState(error)
  const text = messageOf(error)
  const code = codeOf(error)
  if (code !== undefined && passingCodes.has(code)) return true
  // The socket of a server that has not started yet; of any other file it is a mistake.
  if (code === 'ENOENT') return (error as { syscall?: unknown }).syscall === 'connect'
  if (state !== undefined && /^[0-9]/.test(state))
    return passingStates.test(state) && !(state === '08P01' && mistakenTexts.test(text))
  if (code !== undefined) return false
  return passingTexts.test(text) || (error instanceof Error && error.cause !== undefined && isAway(error.cause))
}

/** True when no statement can be run for now: a single one that was cancelled, or took too long, is no outage. */
export const isOutage = (error: unknown): boolean =>
  isAway(error) && sqlState(error) !== '57014' && !(error instanceof RegrowError && error.code === 'deadline')

/** A connection that could not be made may have been refused: the cause says so. */
const causeIsAway = ({ cause }: RegrowError) => cause === undefined || isAway(cause)

/** True when the server let nobody in, or not to what is needed: neither time nor another try changes that. */
export const isRefused = (error: unknown): boolean => /^(28|3D|42)/.test(sqlState(error) ?? '')

/** What to do about an error of a connection or its server, where it is known. */
export function adviceOn(error: unknown): string | undefined {
  const inner = error instanceof AggregateError ? error.errors : []
  const found = [sqlState(error), ...[error, ...inner].map(codeOf)].find(
    (code) => code !== undefined && Object.hasOwn(advice, code),
  )
  if (found !== undefined) return advice[found]
  // The client says so before the server does, without a code.
  return /\bSASL\b.*\bpassword must be\b/.test(messageOf(error)) ? passwordMissing : undefined
}

const passwordMissing = 'The server asks for a password, and the address has none.'

const advice: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens there. Is the server running, and is the address right?',
  ENOTFOUND: 'There is no host of that name. Is the address right?',
  EAI_AGAIN: 'The name of the host could not be looked up. Is the address right, is there a network?',
  ETIMEDOUT: 'It did not answer. Is the address right, does a firewall stand between?',
  '28P01': 'User or password is wrong.',
  '28000': 'The server does not let this user in: see its pg_hba.conf.',
  '3D000': 'There is no database of that name on the server.',
  '42501': 'This user lacks a right. `regrow migrate` needs to create a schema; the rest needs to write to it.',
}

/** The mistake as whoever started the worker should read it; errors of ours say it themselves. */
export function refusal(error: unknown): RegrowError {
  if (error instanceof RegrowError && error.code !== 'store_away') return error
  const cause = error instanceof RegrowError ? error.cause : error
  return new RegrowError(
    'store_refused',
    `The store cannot be opened: ${messageOf(cause)}`,
    adviceOn(cause) ?? 'Another try would not help. Is the address right, and may this user use the database?',
    cause,
  )
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}
