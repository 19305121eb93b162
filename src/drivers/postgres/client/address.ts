// The address of a Postgres server, as it was given. What is wrong with it is said without repeating it: it may hold a password.
import { RegrowError } from '../../../base/errors.ts'
import { kindOfValue } from '../../../base/suggest.ts'

/** The address, if `pg` can read it as one of a Postgres server; throws what is wrong with it otherwise. */
export function checkedAddress(given: unknown): string {
  if (typeof given !== 'string' || given === '')
    throw noUrl(
      `postgres() was given ${given === '' ? 'an empty text' : kindOfValue(given)} as its address`,
      'Set DATABASE_URL, or pass postgres://user@host/database, a function that returns it, a pg Pool or a pg Client.',
    )
  // Two more forms that `pg` takes: a Unix socket as a path, or with a scheme of its own.
  if (given.startsWith('/') || given.startsWith('socket:')) return given
  const scheme = /^([a-z][a-z0-9+.-]{0,20}):\/\//i.exec(given)?.[1]
  if (scheme === undefined)
    throw noUrl(
      'postgres() was given a text that is not the address of a Postgres server',
      'Pass postgres://user:password@host:port/database.',
    )
  if (!/^postgres(ql)?$/i.test(scheme))
    throw noUrl(
      `postgres() was given an address that begins with ${scheme}://`,
      'regrow keeps its tables in Postgres: pass postgres://user:password@host:port/database.',
    )
  if (![given, encodeURI(given), given.replace('@/', '@host/')].some((url) => URL.canParse(url)))
    throw noUrl(
      'postgres() was given an address that cannot be read',
      'Write postgres://user:password@host:port/database; in a user or password, encode / as %2F, @ as %40, # as %23, : as %3A.',
    )
  return given
}

const noUrl = (message: string, hint: string) => new RegrowError('no_url', message, hint)
