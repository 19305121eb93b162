// Reads the project's texts for the tests of this folder: code blocks, links, headings and inline code of a Markdown file.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** A fenced code block. */
export interface Block {
  /** Path of its file inside the repository. */
  readonly file: string
  /** Line of its first line of code, counted from 1. */
  readonly line: number
  /** All that stands behind the opening fence, such as `ts run`. */
  readonly info: string
  readonly code: string
}

export interface Text {
  readonly file: string
  readonly source: string
  readonly blocks: readonly Block[]
  /** Targets of its links, as they are written, each with its line. */
  readonly links: readonly { readonly target: string; readonly line: number }[]
  /** Anchors of its headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>
  /** Inline code outside of code blocks. */
  readonly spans: readonly { readonly code: string; readonly line: number }[]
}

/** README, ARCHITECTURE and the other texts of the root, and all of docs/ and examples/. */
export function projectTexts(): Text[] {
  const inRoot = readdirSync(root).filter((name) => name.endsWith('.md'))
  const below = ['docs', 'examples'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
  )
  return [...inRoot, ...below].sort().map((file) => parse(file, readFileSync(`${root}${file}`, 'utf8')))
}

const FENCE = /^( {0,3})(`{3,})([^`]*)$/

export function parse(file: string, source: string): Text {
  const lines = source.split('\n')
  const blocks: Block[] = []
  /** The text without its code blocks, line by line. */
  const prose: string[] = []
  for (let at = 0; at < lines.length; at++) {
    const fence = FENCE.exec(lines[at] as string)
    prose.push(fence ? '' : (lines[at] as string))
    if (!fence) continue
    const [, indent = '', ticks = '', info = ''] = fence
    const end = lines.findIndex((line, i) => i > at && line.trim() === ticks)
    if (end < 0) throw new Error(`${file}:${at + 1}: this code block has no end`)
    const code = lines.slice(at + 1, end).map((line) => line.replace(indent, ''))
    blocks.push({ file, line: at + 2, info: info.trim(), code: `${code.join('\n')}\n` })
    prose.push(...Array<string>(end - at).fill(''))
    at = end
  }
  return { file, source, blocks, links: linksOf(prose), anchors: anchorsOf(prose), spans: spansOf(prose) }
}

function linksOf(prose: readonly string[]) {
  return prose.flatMap((text, i) =>
    [...text.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => ({
      target: target as string,
      line: i + 1,
    })),
  )
}

function spansOf(prose: readonly string[]) {
  return prose.flatMap((text, i) =>
    [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => ({ code: code as string, line: i + 1 })),
  )
}

function anchorsOf(prose: readonly string[]): Set<string> {
  const anchors = new Set<string>()
  for (const text of prose) {
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(text)?.[1]
    if (heading === undefined) continue
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-')
    let unique = anchor
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`
    anchors.add(unique)
  }
  return anchors
}
