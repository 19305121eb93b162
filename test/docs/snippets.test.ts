// Every TypeScript block of README and docs is compiled against the package's own types, in one run of tsc; those that
// are marked `run` are also run, to their end, and what they print is compared with the `text output` block after them.
//
//   ```ts                a whole module
//   ```ts file=jobs.ts   a module that other blocks of the same text import as './jobs.ts'
//   ```ts run            a module that is also run; DATABASE_URL names an empty Postgres database
//   ```ts fragment       statements: wrapped in an async function; preludes/<text>.d.ts declares the names they use
//
// A file './x.ts' that a text imports and does not show is preludes/<text>.x.d.ts.
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase } from '../services/database.ts'
import { type Block, projectTexts, root } from './markdown.ts'

interface Snippet {
  readonly block: Block
  readonly run: boolean
  readonly fragment: boolean
  /** Path inside the folder of snippets. */
  readonly path: string
  /** What it has to print, where the text says so. */
  readonly output: string | undefined
}

const folder = join(root, '.tmp', `snippets-${process.pid}`)
const preludes = join(root, 'test', 'docs', 'preludes')
const shortName = (file: string): string => file.replace(/^docs\//, '').replace(/\.md$/, '')
const folderOf = (file: string): string => file.replaceAll(/[/.]/g, '-')
const otherInfos = ['sh', 'sql', 'json', 'text', 'text output', 'sql roles', 'text acl']
const snippetTexts = projectTexts().filter(({ file }) => file === 'README.md' || file.startsWith('docs/'))
const allBlocks = projectTexts().flatMap(({ blocks }) => blocks)
const snippets = snippetTexts.flatMap(({ blocks }) => blocks.flatMap((block, i) => snippetOf(block, blocks[i + 1])))

function snippetOf(block: Block, next: Block | undefined): Snippet[] {
  const [language, ...marks] = block.info.split(' ')
  if (language !== 'ts') return []
  const name = marks.find((mark) => mark.startsWith('file='))?.slice('file='.length)
  const path = join(folderOf(block.file), name ?? `line-${block.line}.ts`)
  const output = next?.info === 'text output' ? next.code : undefined
  return [{ block, run: marks.includes('run'), fragment: marks.includes('fragment'), path, output }]
}

const isKnown = ({ info }: Block): boolean =>
  otherInfos.includes(info) || /^ts( run)?( file=[a-z-]+\.ts)?$|^ts fragment$/.test(info)

/** The code on the lines that it has in its text, so that tsc's line numbers are the text's. */
function sourceOf({ block, fragment }: Snippet): string {
  const above = '\n'.repeat(block.line - 2)
  if (!fragment) return `${above}\n${block.code}`
  const prelude = join(preludes, `${shortName(block.file)}.d.ts`)
  const imports: string[] = []
  const body = block.code.replaceAll(/^import .*$/gm, (line) => {
    imports.push(line)
    return ''
  })
  const names = existsSync(prelude) ? readFileSync(prelude, 'utf8') : ''
  return `${above}export async function fragment() {\n${body}}\n${imports.join('\n')}\n${names}`
}

async function call(command: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  try {
    const options = { cwd: root, maxBuffer: 2 ** 26, timeout: 100_000, env: { ...process.env, ...env } }
    return (await promisify(execFile)(command, args, options)).stdout
  } catch (error) {
    const { stdout, stderr, killed } = error as { stdout: string; stderr: string; killed: boolean }
    throw new Error(`${killed ? 'It did not end by itself within 100 s.\n' : ''}${stdout}\n${stderr}`)
  }
}

const messageOf = (error: Error): string => error.message.trim()

/** What tsc says, with the lines of the texts instead of those of the files made from them: they are the same. */
function atTheirTexts(said: string): string {
  return snippets.reduce(
    (text, { path, block }) => text.replaceAll(join('src', path), block.file),
    said.replaceAll(`${relative(root, folder)}/`, ''),
  )
}

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every code block says what it is, so that none is skipped by mistake', () => {
  const unknown = allBlocks.filter((block) => !isKnown(block))
  expect(unknown.map(({ file, line, info }) => `${file}:${line - 1}: "${info}"`)).toEqual([])
})

test('there are snippets to compile and to run, and each output belongs to one', () => {
  const outputs = allBlocks.filter(({ info }) => info === 'text output')
  const count = { compiled: snippets.length, run: snippets.filter(({ run }) => run).length, outputs: outputs.length }
  console.log(`snippets: ${JSON.stringify(count)}`)
  expect(count.compiled).toBeGreaterThan(20)
  expect(count.run).toBeGreaterThan(3)
  expect(snippets.filter(({ run, output }) => run && output !== undefined)).toHaveLength(count.outputs)
  expect(new Set(snippets.map(({ path }) => path)).size).toBe(count.compiled)
})

describe('all snippets', () => {
  beforeAll(async () => {
    await call(process.execPath, ['scripts/setup.mjs'])
    rmSync(folder, { recursive: true, force: true })
    for (const snippet of snippets) {
      const path = join(folder, 'src', snippet.path)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, sourceOf(snippet))
    }
    for (const { file } of snippetTexts)
      for (const name of readdirSync(preludes).filter((each) => each.startsWith(`${shortName(file)}.`))) {
        const sibling = name.slice(shortName(file).length + 1).replace(/\.?d\.ts$/, '')
        if (sibling) copyFileSync(join(preludes, name), join(folder, 'src', folderOf(file), `${sibling}.ts`))
      }
    const compilerOptions = {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
      rewriteRelativeImportExtensions: true,
      types: ['node'],
      typeRoots: [join(root, 'node_modules', '@types')],
      rootDir: 'src',
      outDir: 'out',
      noEmitOnError: false,
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
  }, 120_000)

  test('compile', async () => {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const said = await call(process.execPath, [tsc, '-p', join(folder, 'tsconfig.json')]).catch(messageOf)
    expect(atTheirTexts(said)).toBe('')
  }, 60_000)

  test.each(
    snippets
      .filter(({ run }) => run)
      .map((snippet) => ({ ...snippet, name: `${snippet.block.file}:${snippet.block.line}` })),
  )('the snippet in $name runs to its end and prints what the text says', async ({ path, output }) => {
    const database = await freshDatabase('snippet')
    try {
      const script = join(folder, 'out', path.replace(/\.ts$/, '.js'))
      const printed = await call(process.execPath, [script], { DATABASE_URL: database.url, NODE_ENV: '' })
      if (output !== undefined) expect(printed).toBe(output)
    } finally {
      await database.drop()
    }
  })
})
