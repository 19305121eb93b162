// What the reader sees: on a terminal a table that is rewritten in place, elsewhere a plain line every few seconds.
// Lines of what happened stay above the table.
import colors from 'picocolors'
import { seconds } from './damage.ts'
import type { Member } from './fleet.ts'
import { type JobTally, total } from './tally.ts'

export interface Picture {
  readonly elapsedMs: number
  readonly phase: string
  readonly tally: readonly JobTally[]
  /** Runs that failed and were tried again, by job. */
  readonly retried: ReadonlyMap<string, number>
  readonly hints: number
  readonly members: readonly Member[]
}

export interface Screen {
  /** A line that stays. */
  say(line: string): void
  show(picture: Picture): void
  close(): void
}

/** One line every two seconds. */
export function plainLines(write: (text: string) => void): Screen {
  let shownAt = Number.NEGATIVE_INFINITY
  return {
    say: (line) => write(`${line}\n`),
    show({ elapsedMs, phase, tally, retried, hints }) {
      if (elapsedMs - shownAt < 2_000) return
      shownAt = elapsedMs
      const counts = (['rows', 'done', 'running', 'waiting', 'quarantined'] as const).map(
        (column) => `${column} ${total(tally, column)}`,
      )
      write(
        `${seconds(elapsedMs).padStart(7)}  ${phase}: ${counts.join(', ')}, retried ${sum(retried)}, hints ${hints}\n`,
      )
    },
    close() {},
  }
}

/** A table in place: at each change the old one is erased and the new one written below the lines that stay. */
export function liveTable(out: NodeJS.WriteStream, keys: string): Screen {
  let height = 0
  let last: Picture | undefined
  const erase = () => (height > 0 ? `\x1b[${height}A\x1b[J` : '')
  const draw = (above: string) => {
    // One column is left free: a full line would wrap and make the table higher than it counts.
    const lines = last ? table(last, keys).map((line) => cut(line, Math.min(out.columns || 80, 80) - 1)) : []
    const shown = lines.slice(0, Math.max(0, (out.rows || 24) - 2))
    out.write(`${erase()}${above}${shown.map((line) => `${line}\n`).join('')}`)
    height = shown.length
  }
  out.write('\x1b[?25l')
  return {
    say: (line) => draw(`${line}\n`),
    show(picture) {
      last = picture
      draw('')
    },
    close() {
      last = undefined
      out.write(`${erase()}\x1b[?25h`)
      height = 0
    },
  }
}

const columns = ['rows', 'done', 'running', 'waiting', 'retried', 'quarantined'] as const

function table({ elapsedMs, phase, tally, retried, hints, members }: Picture, keys: string): string[] {
  const row = (name: string, cells: readonly (string | number)[]) =>
    `  ${name.padEnd(16)}${cells.map((cell, i) => String(cell).padStart(i === 5 ? 13 : 9)).join('')}`
  const workers = members.map(({ number, state, running }) =>
    state === 'working' ? `${number}: ${running.size} running` : `${number}: ${state}`,
  )
  return [
    '',
    row(`${seconds(elapsedMs)} ${phase}`.padEnd(16), columns).replace(/^ {2}/, colors.reset('  ')),
    ...tally.map((each) => {
      const cells = columns.map((column) => (column === 'retried' ? (retried.get(each.job) ?? 0) : each[column]))
      return row(each.job.replace(/^demo\./, ''), cells)
    }),
    `  ${'queue'.padEnd(16)}${String(hints).padStart(9)} hints ${'▪'.repeat(Math.min(44, Math.ceil(hints / 4)))}`,
    `  ${'workers'.padEnd(17)}${workers.join('   ')}`,
    '',
    `  ${keys}`,
  ]
}

const cut = (line: string, width: number): string => (line.length <= width ? line : line.slice(0, width))

const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((a, b) => a + b, 0)
