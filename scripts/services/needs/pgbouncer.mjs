// What a PgBouncer needs. The npm registry has none.

import { newestFirst } from '../places.mjs'

/** @type {import('../finder.mjs').Need} */
export const pgbouncerNeed = {
  name: 'pgbouncer',
  programs: ['pgbouncer'],
  places: () => newestFirst(['/usr/sbin', '/opt/homebrew/opt/pgbouncer/bin', '/usr/local/opt/pgbouncer/bin']),
  debian: 'pgbouncer',
  brew: 'pgbouncer',
  image: 'edoburu/pgbouncer:v1.24.1-p1',
}
