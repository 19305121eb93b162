// What the reader sees: on a terminal a table that is rewritten in place, elsewhere a plain line every few seconds.
// Lines of what happened stay above the table.
import { seconds } from './damage.ts'
import type { Member } from './fleet.ts'
import { type JobTally, total } from './tally.ts'

export interface Picture {
  readonly elapsedMs: number
  readonly timeMs: number
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
  /** Nothing is written after this. */
  close(): void
}

/** One line every two seconds. */
export function plainLines(out: NodeJS.WriteStream): Screen {
  let shownAt = Number.NEGATIVE_INFINITY
  let closed = false
  const say = (line: string) => void (closed || out.write(`${line}\n`))
  return {
    say,
    show({ elapsedMs, tally, retried, hints }) {
      if (elapsedMs - shownAt < 2_000) return
      shownAt = elapsedMs
      const counts = (['rows', 'done', 'running', 'waiting'] as const).map((name) => `${name} ${total(tally, name)}`)
      const others = `retried ${sum(retried)}, quarantined ${total(tally, 'quarantined')}, hints ${hints}`
      say(`${seconds(elapsedMs).padStart(7)}  ${counts.join(', ')}, ${others}`)
    },
    close() {
      closed = true
    },
  }
}

/** A table in place: at each change the old one is erased and the new one written below the lines that stay. */
export function liveTable(out: NodeJS.WriteStream, keys: string): Screen {
  let height = 0
  let last: Picture | undefined
  let closed = false
  const draw = (above: string) => {
    if (closed) return
    // One column is left free: a full line would wrap, and the table would be higher than it counts.
    const width = (out.columns || 80) - 1
    const lines = last ? table(last, keys).slice(0, Math.max(0, (out.rows || 24) - 2)) : []
    const erase = height > 0 ? `\x1b[${height}A\x1b[J` : ''
    out.write(`${erase}${above}${lines.map((line) => `${line.slice(0, width)}\n`).join('')}`)
    height = lines.length
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
      draw('\x1b[?25h')
      closed = true
    },
  }
}

const columns = ['rows', 'done', 'running', 'waiting', 'retried', 'quarantined'] as const

function table({ elapsedMs, timeMs, phase, tally, retried, hints, members }: Picture, keys: string): string[] {
  const row = (name: string, cells: readonly unknown[]) =>
    `  ${name.padEnd(16)}${cells.map((cell, i) => String(cell).padStart(i < 5 ? 9 : 13)).join('')}`
  const workers = members.map(({ number, state, running }) =>
    state === 'working' ? `${number}: ${running.size} running` : `${number}: ${state}`,
  )
  return [
    '',
    `  ${seconds(elapsedMs)} of ${seconds(timeMs)}, ${phase}`,
    row('', columns),
    ...tally.map((each) => {
      const cells = columns.map((column) => (column === 'retried' ? (retried.get(each.job) ?? 0) : each[column]))
      return row(each.job.replace(/^demo\./, ''), cells)
    }),
    `${row('queue', [hints])} hints  ${'▪'.repeat(Math.min(42, Math.ceil(hints / 4)))}`,
    `  ${'workers'.padEnd(20)}${workers.join('   ')}`,
    '',
    `  ${keys}`,
  ]
}

const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((a, b) => a + b, 0)
