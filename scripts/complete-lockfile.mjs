// Completes package-lock.json after each change of dependencies. A registry mirror that lacks the binaries for other
// platforms makes npm leave them out of the lockfile, and `npm ci` then refuses the lockfile on every platform.
// Each missing optional dependency gets the entry npm would have written: version, os, cpu, optional.
//   node scripts/complete-lockfile.mjs [--check] [file]
// Plain JavaScript without packages: a lockfile that is not complete keeps them from being installed.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const args = process.argv.slice(2)
const onlyCheck = args.includes('--check')
const file =
  args.find((arg) => !arg.startsWith('--')) ?? fileURLToPath(new URL('../package-lock.json', import.meta.url))

const lockfile = JSON.parse(readFileSync(file, 'utf8'))
const missing = missingEntries(lockfile.packages)
const addresses = Object.keys(lockfile.packages).filter((path) => lockfile.packages[path].resolved)

if (onlyCheck) {
  for (const { path } of missing) console.error(`missing: ${path}`)
  for (const path of addresses) console.error(`has an address of its own ("resolved"): ${path}`)
  if (missing.length + addresses.length > 0) {
    console.error('package-lock.json is not complete. Run: node scripts/complete-lockfile.mjs')
    process.exitCode = 1
  } else console.log('package-lock.json is complete')
} else {
  for (const { path, entry } of missing) lockfile.packages[path] = entry
  for (const path of addresses) delete lockfile.packages[path].resolved
  const sorted = Object.entries(lockfile.packages).sort(([a], [b]) => a.localeCompare(b, 'en'))
  lockfile.packages = Object.fromEntries(sorted)
  writeFileSync(file, `${JSON.stringify(lockfile, null, 2)}\n`)
  console.log(`package-lock.json: ${missing.length} entries added, ${addresses.length} addresses removed`)
}

function missingEntries(packages) {
  const known = new Map(Object.entries(packages))
  const added = []
  for (const [parent, meta] of Object.entries(packages)) {
    for (const [name, range] of Object.entries(meta.optionalDependencies ?? {})) {
      const found = lookUp(known, parent, name)
      if (found && fits(known.get(found).version, range)) continue
      // Another version of it has the outer place: this one goes beside its parent.
      const path = found ? `${parent}/node_modules/${name}` : `node_modules/${name}`
      const entry = entryFor(name, range, meta)
      known.set(path, entry)
      added.push({ path, entry })
    }
  }
  return added
}

/** As Node resolves: beside the parent's own modules first, then outwards. */
function lookUp(known, parent, name) {
  for (let folder = parent; ; ) {
    const path = `${folder ? `${folder}/` : ''}node_modules/${name}`
    if (known.has(path)) return path
    if (folder === '') return undefined
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))
  }
}

/** Platform packages are wanted in one exact version; with a range, whatever npm put there is its choice. */
function fits(version, range) {
  return version === range || !/^\d/.test(range)
}

function entryFor(name, range, parent) {
  const version = /^[~^]?(\d+\.\d+\.\d+\S*)$/.exec(range)?.[1]
  if (version === undefined)
    throw new Error(`No version can be told from "${name}": "${range}". Add its entry by hand.`)
  const { dev, devOptional } = parent
  return { version, ...platformOf(name), ...(dev && { dev }), ...(devOptional && { devOptional }), optional: true }
}

/** Platform packages say in their names what they are for: binding-linux-arm64-musl. */
function platformOf(name) {
  const words = name.split('/').at(-1).split(/[-.]/)
  const os = words.find((word) =>
    ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'].includes(
      word,
    ),
  )
  const cpu = words.find((word) =>
    ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'].includes(word),
  )
  if (os === undefined && cpu === undefined)
    throw new Error(`No platform can be told from the name "${name}". Add its entry by hand.`)
  const libc =
    os !== 'linux'
      ? undefined
      : words.some((word) => word.startsWith('musl'))
        ? 'musl'
        : words.some((word) => word.startsWith('gnu'))
          ? 'glibc'
          : undefined
  return { ...(cpu && { cpu: [cpu] }), ...(libc && { libc: [libc] }), ...(os && { os: [os] }) }
}
