// An address needs the package @redis/client. What is told when it cannot be had says which of two things is wrong.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { built } from '../../../processes/cli.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const moduleOf = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`

beforeAll(() => built(), 120_000)

/** The error of redis(url) where loading the package fails like that. */
async function told(failure: { message: string; code?: string }): Promise<string> {
  const hooks = moduleOf(`export async function resolve(specifier, context, next) {
    if (specifier === '@redis/client')
      throw Object.assign(new Error(${JSON.stringify(failure.message)}), { code: ${JSON.stringify(failure.code)} })
    return next(specifier, context)
  }`)
  const register = moduleOf(`import { register } from 'node:module'; register(${JSON.stringify(hooks)})`)
  const ask = `import { redis } from 'regrow/redis'
    await redis('redis://127.0.0.1:1').open({}).catch((error) => console.log(error.code, error.message))`
  const args = ['--import', register, '--input-type=module', '--eval', ask]
  return (await promisify(execFile)(process.execPath, args, { cwd: root })).stdout
}

test('a package that is not there is to be installed; one that cannot be loaded is told with the reason', async () => {
  const missing = await told({ message: 'Cannot find package', code: 'ERR_MODULE_NOT_FOUND' })
  expect(missing).toContain('missing_package The package @redis/client is not installed')
  expect(missing).toContain('npm install @redis/client')
  const broken = await told({ message: 'the loader gave up' })
  expect(broken).toContain('missing_package The package @redis/client could not be loaded: the loader gave up')
  expect(broken).toContain('Pass a client instead')
})
