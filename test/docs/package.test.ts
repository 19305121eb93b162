// The package as users get it: packed, installed into an empty project, and the README's first example type-checked
// and run there, on the oldest and the newest Node that are supported.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findNode } from '../../tools/services/index.ts'
import { parse, root } from './markdown.ts'

interface PackageJson {
  exports: Record<string, string | Record<string, string>>
  bin: Record<string, string>
  devDependencies: Record<string, string>
  optionalDependencies: Record<string, string>
}

let folder: string
let project: string
let manifest: PackageJson
let packed: { filename: string; files: { path: string; mode: number }[] }

async function run(command: string, args: string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, maxBuffer: 2 ** 26 })
    return stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
  }
}

const npm = (cwd: string, ...args: string[]): Promise<string> =>
  run('npm', [...args, '--ignore-scripts', '--loglevel=error'], cwd)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regrow-package-'))
  project = join(folder, 'project')
  manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await run(process.execPath, ['scripts/setup.mjs'], root)
  packed = JSON.parse(await npm(root, 'pack', '--json', '--pack-destination', folder))[0]
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the tarball', () => {
  test('holds the build, the manifest and the texts, nothing else', () => {
    const known =
      /^(dist\/.*\.(js|d\.ts)|package\.json|[A-Z]+\.md|LICENSE|docs\/.*\.md|examples\/.*\.(md|ts)|bench\/RESULTS\.md|bench\/.*\.svg)$/
    expect(packed.files.map((file) => file.path).filter((path) => !known.test(path))).toEqual([])
  })

  test('holds every file that one of its texts links to', async () => {
    const paths = new Set(packed.files.map((file) => file.path))
    const texts = [...paths].filter((path) => path.endsWith('.md') && !path.startsWith('dist/'))
    expect(texts).toEqual(expect.arrayContaining(['README.md', 'docs/getting-started.md', 'docs/decisions/README.md']))
    const dead = await Promise.all(
      texts.map(async (file) => {
        const { links } = parse(file, await readFile(join(root, file), 'utf8'))
        return links
          .filter(({ target }) => !/^(#|[a-z]+:)/.test(target))
          .map(({ target, line }) => ({
            at: `${file}:${line}`,
            path: posix.join(posix.dirname(file), target.split('#')[0] as string),
          }))
          .filter(
            ({ path }) =>
              !(paths.has(path) || (path.endsWith('/') && [...paths].some((each) => each.startsWith(path)))),
          )
          .map(({ at, path }) => `${at}: ${path}`)
      }),
    )
    expect(dead.flat()).toEqual([])
  })

  test('holds every file that exports and bin name, and the command is executable', () => {
    const modes = new Map(packed.files.map((file) => [`./${file.path}`, file.mode]))
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? target : Object.values(target),
    )
    expect([...targets, ...Object.values(manifest.bin)].filter((target) => !modes.has(target))).toEqual([])
    for (const target of Object.values(manifest.bin)) expect((modes.get(target) ?? 0) & 0o111, target).not.toBe(0)
  })
})

describe('in an empty project', () => {
  beforeAll(async () => {
    await mkdir(project)
    await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    const { optionalDependencies, devDependencies } = manifest
    const others = [
      `@electric-sql/pglite@${optionalDependencies['@electric-sql/pglite']}`,
      `zod@${devDependencies.zod}`,
    ]
    await npm(
      project,
      'install',
      join(folder, packed.filename),
      ...others,
      '--no-audit',
      '--no-fund',
      '--prefer-offline',
    )
  }, 180_000)

  test.each([
    ['pglite', 'store'],
    ['postgres', 'store'],
    ['postgres', 'redis'],
  ])(
    'what regrow init writes for %s and the queue in %s compiles with the settings of tsc --init',
    async (store, queue) => {
      const dir = join(project, `init-${store}-${queue}`)
      await mkdir(dir)
      const tsc = (...args: string[]) =>
        run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), ...args], dir)
      await tsc('--init')
      const command = join(project, 'node_modules', 'regrow', manifest.bin.regrow as string)
      await run(
        process.execPath,
        [command, 'init', '--language', 'ts', '--store', store, '--queue', queue, '--yes'],
        dir,
      )
      await tsc()
      expect(await readFile(join(dir, 'regrow', 'worker.js'), 'utf8')).toContain(`from './app.js'`)
    },
  )

  describe.each([20, 24])('on Node %i', (major) => {
    let node: string
    beforeAll(async () => {
      node = await findNode(major)
    }, 180_000)

    test('every entry can be imported, without the optional clients', async () => {
      const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith('.json'))
      const code = entries.map((entry) => `await import('${entry.replace('.', 'regrow')}')`).join('\n')
      await run(node, ['--input-type=module', '--eval', code], project)
    })

    test('the command answers --help', async () => {
      const command = join(project, 'node_modules', 'regrow', manifest.bin.regrow as string)
      expect(await run(node, [command, '--help'], project)).toContain('regrow')
    })

    test('the first example of the README type-checks, runs to its end and prints what the README says', async () => {
      const { blocks } = parse('README.md', await readFile(join(root, 'README.md'), 'utf8'))
      const first = blocks.findIndex(({ info }) => /^ts\b/.test(info))
      expect(blocks[first]?.info).toBe('ts run')
      expect(blocks[first + 1]?.info).toBe('text output')
      const script = await compile(blocks[first]?.code as string, major)
      expect(await run(node, [script], project)).toBe(blocks[first + 1]?.code)
    }, 120_000)
  })
})

/** Compiles with the project's own tsc against the installed package, as a user would. Answers the script's path. */
async function compile(example: string, major: number): Promise<string> {
  const name = `example-${major}`
  await writeFile(join(project, `${name}.ts`), example)
  const config = {
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      skipLibCheck: true,
      outDir: name,
      types: ['node'],
      typeRoots: [join(root, 'node_modules', '@types')],
    },
    files: [`${name}.ts`],
  }
  await writeFile(join(project, `${name}.json`), JSON.stringify(config))
  await run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', `${name}.json`], project)
  return join(project, name, `${name}.js`)
}
