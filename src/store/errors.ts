// What core needs to know of an error that a call of the store ended with. A store sorts its errors into these kinds by
// `Store.classify`; core decides by the kind alone and knows no code of any database.
import { aggregated, causeOf, codeOf, messageOf, RegrowError, read } from '../base/errors.ts'

export type StoreErrorKind =
  /** Two transactions were in each other's way and one was rolled back: the same work may be done again at once. */
  | 'conflict'
  /** Another transaction holds what the statement needs, and the statement was not allowed to wait longer. */
  | 'lock_timeout'
  /** The server cancelled the statement: its time limit passed, or an operator cancelled it. */
  | 'timeout'
  /** The store refuses what a row holds (a value, a constraint, a limit, a trigger that raises): another row may pass. */
  | 'bad_row'
  /** The statement is wrong, names something that does not exist, or lacks a right: it fails every time. */
  | 'mistake'
  /** The server cannot do what the statement asks for. */
  | 'unsupported'
  /** The server refuses the connection: a wrong user, password or database. */
  | 'refused'
  /** What the store was given as its connection was closed by whoever gave it: every call fails from now on. */
  | 'closed'
  /** The server failed inside this statement: the same statement fails again, and others may work. */
  | 'internal'
  /** The server cannot be reached, is starting or stopping, or has run out of resources. */
  | 'away'
  /** An error of the store, its client or the network, and none of these. */
  | 'unknown'
  /** No error of a store at all: a mistake in a program, or a value that somebody threw. The same call ends so every time. */
  | 'foreign'

/** Sorts an error by its kind. Errors of regrow that wrap one of the server are sorted by what they wrap. */
export type Classify = (error: unknown) => StoreErrorKind

/** A row is the cause: another try of that row fails again, and other rows may pass. */
export const isBadRow = (kind: StoreErrorKind): boolean => kind === 'bad_row'

/** The same call may succeed later. */
export const isPassing = (kind: StoreErrorKind): boolean =>
  !['bad_row', 'mistake', 'internal', 'closed', 'foreign'].includes(kind)

/** Neither time nor another try changes it: the address, a right or the schema is wrong. */
export const isRefusal = (kind: StoreErrorKind): boolean => ['mistake', 'refused', 'closed'].includes(kind)

/** Errors hold each other; deeper ones no client would make. */
const depthMost = 6

/** True when the store is away, starting or overloaded: the same call may succeed later. */
export function isAway(error: unknown, classify: Classify, depth = 0): boolean {
  if (error instanceof RegrowError) {
    if (error.code === 'deadline') return true
    // A connection that could not be made may have been refused: the cause says so.
    if (!['store_away', 'url_failed'].includes(error.code)) return false
    const cause = causeOf(error)
    return depth < depthMost && (cause === undefined || isAway(cause, classify, depth + 1))
  }
  return ['away', 'conflict', 'lock_timeout', 'timeout'].includes(classify(error))
}

/** True when no statement can be run for now: a single one that was cancelled, or took too long, is no outage. */
export const isOutage = (error: unknown, classify: Classify): boolean =>
  isAway(error, classify) &&
  classify(error) !== 'timeout' &&
  !(error instanceof RegrowError && error.code === 'deadline')

interface Known {
  readonly classify: Classify
  readonly advise?: ((error: unknown) => string | undefined) | undefined
}

/** The errors of an app's store. Before its driver has opened it, all that is known is whether the server can be reached. */
export class StoreErrors {
  #store: Known = { classify: (error) => (isUnreachable(error) ? 'away' : 'unknown') }

  /** `open` with the store that it opens: from then on its own `classify` decides. */
  async of<Opened extends { readonly store: Known }>(open: Promise<Opened>): Promise<Opened> {
    const opened = await open
    this.#store = opened.store
    return opened
  }

  readonly classify: Classify = (error) => this.#store.classify(error)
  readonly isAway = (error: unknown): boolean => isAway(error, this.classify)
  readonly isOutage = (error: unknown): boolean => isOutage(error, this.classify)
  readonly refusal = (error: unknown): RegrowError => refusal(error, this.#store.advise)
  readonly told = (error: unknown): unknown => told(error, this.#store)
}

/** Codes that Node gives a connection that cannot be made or broke. */
const unreachableCodes = new Set([
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
  // Something was written to a connection that had just been closed.
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
])

/** Clients report a connection that broke, or that took too long, by a text alone. */
const unreachableTexts =
  /\b(timeout|timed out|terminated|connection (?:is |was )?(?:closed|ended|lost)|socket hang up|is not queryable|pool after calling end|pglite is closed)\b/i

/** Errors and causes that are looked at. */
const unreachableMost = 50

/** True when an error without a code of a server means that the server cannot be reached. The same for every client. */
export const isUnreachable = (error: unknown): boolean => leadsNowhere(error, new Set())

function leadsNowhere(error: unknown, seen: Set<unknown>): boolean {
  if (seen.has(error) || seen.size >= unreachableMost) return false
  seen.add(error)
  const inner = aggregated(error)
  if (inner.length > 0) return inner.some((each) => leadsNowhere(each, seen))
  const code = codeOf(error)
  // The socket of a server that has not started yet; of any other file it is a mistake.
  if (code === 'ENOENT') return read(error, 'syscall') === 'connect'
  if (code !== undefined) return unreachableCodes.has(code)
  const cause = causeOf(error)
  return unreachableTexts.test(messageOf(error)) || (cause !== undefined && leadsNowhere(cause, seen))
}

/** True for what no client reports: it has no code, and nothing that it was caused by has one. */
export function isForeign(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth <= depthMost && cause !== undefined; depth++, cause = causeOf(cause))
    if (codeOf(cause) !== undefined) return false
  return !isUnreachable(error)
}

const adviceByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens there. Is the server running, and is the address right?',
  ENOTFOUND: 'There is no host of that name. Is the address right?',
  EAI_AGAIN: 'The name of the host could not be looked up. Is the address right, is there a network?',
  ETIMEDOUT: 'It did not answer. Is the address right, does a firewall stand between?',
}

/** What to do about a server that cannot be reached, where it is known. */
export function connectionAdvice(error: unknown): string | undefined {
  const code = [error, ...aggregated(error)]
    .map(codeOf)
    .find((each) => each !== undefined && Object.hasOwn(adviceByCode, each))
  return code === undefined ? undefined : adviceByCode[code]
}

/**
 * An error of a call outside of runs, as its caller should read it: that the store cannot be reached, or refuses, in words, with what to do
 * and the error of its client as the cause. What is about the call itself passes as it is.
 */
function told(error: unknown, { classify, advise = connectionAdvice }: Known): unknown {
  const wrapped = error instanceof RegrowError
  if (wrapped && error.code !== 'store_away') return error
  const cause = wrapped ? (causeOf(error) ?? error) : error
  const kind = classify(cause)
  // No such host, no password where one is asked for: known only by what to do about it.
  if (kind === 'refused' || (kind === 'unknown' && advise(cause) !== undefined)) return refusal(cause, advise)
  if (!wrapped && kind !== 'away') return error
  return new RegrowError(
    'store_away',
    `The store cannot be reached: ${messageOf(cause).split('\n', 1)[0]}`,
    `${advise(cause) ?? 'Is its server running, and not out of connections?'} Call again when it is back; a call that was cut off may have taken effect.`,
    cause,
  )
}

/** The mistake as the author of the app should read it; errors of regrow say it themselves. `advise`: `Store.advise`. */
export function refusal(
  error: unknown,
  advise: (error: unknown) => string | undefined = connectionAdvice,
): RegrowError {
  if (error instanceof RegrowError && error.code !== 'store_away') return error
  const cause = error instanceof RegrowError ? causeOf(error) : error
  return new RegrowError(
    'store_refused',
    `The store cannot be opened: ${messageOf(cause)}`,
    advise(cause) ?? 'Another try would not help. Is the address right, and may this user use the database?',
    cause,
  )
}
