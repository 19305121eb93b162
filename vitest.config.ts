// How tests run: one Postgres and one PgBouncer for the whole run, three files at a time: most of what they do is wait, the package's own names
// resolved to the sources (the built package is tested by test/docs/package.test.ts). Unit tests share their processes: starting one
// for each file took three times as long as the tests.

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const src = fileURLToPath(new URL('./src', import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^regrow$/, replacement: `${src}/index.ts` },
      { find: /^regrow\/(testing|operate)$/, replacement: `${src}/$1/index.ts` },
      { find: /^regrow\/driver$/, replacement: `${src}/drivers/index.ts` },
      { find: /^regrow\/([a-z-]+)$/, replacement: `${src}/drivers/$1/index.ts` },
    ],
  },
  test: {
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false } },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**'],
          globalSetup: ['test/services/global-setup.ts'],
        },
      },
    ],
  },
})
