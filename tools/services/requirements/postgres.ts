// What a PostgreSQL server runs on.

import { embeddedPostgres } from '../embedded-postgres.ts'
import { newestFirst } from '../find-binary.ts'
import type { Requirement } from './requirement.ts'

export const postgresRequirement: Requirement = {
  name: 'postgres',
  binaries: ['postgres', 'initdb'],
  folders: () =>
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
  fetchFromNpm: embeddedPostgres,
}
