// How tests run: one Postgres and one PgBouncer for the whole run, three files at a time: most of what they do is wait, the package's own names
// resolved to the sources (the built package is tested by test/docs/package.test.ts).

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const src = fileURLToPath(new URL('./src', import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^regrow$/, replacement: `${src}/index.ts` },
      { find: /^regrow\/testing$/, replacement: `${src}/testing/index.ts` },
      { find: /^regrow\/([a-z-]+)$/, replacement: `${src}/backends/$1/index.ts` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/services/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
