// npm run bench -- schedules: what an audit of ten thousand schedules costs. `--count 10000`, `--json` prints one object,
// `--write` writes its section of bench/RESULTS.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../tools/services/index.ts'
import { withSection } from '../compare/page.ts'
import { type AuditResult, audits } from './audit.ts'

const resultsFile = new URL('../RESULTS.md', import.meta.url)

/** Reads the rest of the command line and does what it says; answers the exit code. */
export async function schedulesBench(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      count: { type: 'string', default: '10000' },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  })
  const count = Number(values.count)
  if (!Number.isInteger(count) || count < 1)
    throw new Error(`--count is ${values.count}; expected a whole number from 1`)
  const server = await startPostgres({ settings: { max_connections: 100, shared_buffers: '256MB' } })
  const results = await audits(await server.createDatabase('schedules'), count)
  await server.close()
  if (values.json) console.log(JSON.stringify({ node: process.version, results }))
  else for (const line of tableOf(results)) console.log(line)
  if (values.write)
    writeFileSync(resultsFile, withSection(readFileSync(resultsFile, 'utf8'), 'schedules', sectionOf(results)))
  return 0
}

const number = (value: number) => Math.round(value).toLocaleString('en')

function tableOf(results: readonly AuditResult[]): string[] {
  return [
    '| audit | schedules | statements | of these | slots made | hints pushed | milliseconds |',
    '|---|---|---|---|---|---|---|',
    ...results.map(({ id, schedules, statements, slots, hints, ms }) => {
      const all = Object.values(statements).reduce((sum, times) => sum + times, 0)
      const parts = Object.entries(statements).map(([kind, times]) => `${kind} ${times}`)
      return `| ${id} | ${number(schedules)} | ${all} | ${parts.join(', ')} | ${number(slots)} | ${number(hints)} | ${number(ms)} |`
    }),
  ]
}

function sectionOf(results: readonly AuditResult[]): string {
  const day = new Date().toISOString().slice(0, 10)
  return [
    '## An audit of schedules',
    '',
    `Written by \`npm run bench -- schedules --write\` on ${day}, on Postgres with its own queue, Node ${process.version}.`,
    '',
    ...tableOf(results),
    '',
    'Pages of 500 schedules; of each a read, a write that stamps what was seen, and where hints are missing a push or two. One process',
    'audits for the whole fleet: ten thousand schedules each half minute.',
  ].join('\n')
}
