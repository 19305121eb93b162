// What a PgBouncer runs on. The npm registry has none.

import { newestFirst } from '../find-binary.ts'
import type { Requirement } from './requirement.ts'

export const pgbouncerRequirement: Requirement = {
  name: 'pgbouncer',
  binaries: ['pgbouncer'],
  folders: () => newestFirst(['/usr/sbin', '/opt/homebrew/opt/pgbouncer/bin', '/usr/local/opt/pgbouncer/bin']),
  debian: 'pgbouncer',
  brew: 'pgbouncer',
  image: 'edoburu/pgbouncer:v1.24.1-p1',
}
