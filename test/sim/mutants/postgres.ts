// Mutants of the queue on Postgres and of its connections, found by tests on a server.
import { type Mutant, mutant, test } from './mutant.ts'

const source = (name: string) => `src/backends/postgres/${name}`
const bell = test('flow/postgres-bell')

export const ofPostgres: readonly Mutant[] = [
  mutant(
    'postgres-listens-once',
    'F32: a connection that was made again does not listen again',
    source('listener.ts'),
    'await client.query(`listen ',
    '(make as { listened?: unknown }).listened ??= await client.query(`listen ',
    bell,
  ),
  mutant(
    'postgres-listens-to-nobody',
    'F32: a half-open connection is listened to for ever',
    source('queue/bell.ts'),
    'connection.ping()',
    'Promise.resolve()',
    bell,
  ),
  mutant(
    'postgres-listens-behind-a-pooler',
    "F1: what a pooler's session hears is taken for ours",
    source('listener.ts'),
    'if (!(await isDirect(client))) {',
    'if (!(await isDirect(client)) && !client) {',
    bell,
  ),
  mutant(
    'postgres-told-before-it-listened',
    'what was pushed before the connection listened is slept through',
    source('queue/bell.ts'),
    `// What was pushed before it listened, nobody told: whoever waits looks once more.
    this.#ringAll()`,
    '',
    bell,
  ),
  mutant(
    'postgres-bell-without-polls',
    'who listens does not look by itself',
    source('queue/postgres-queue.ts'),
    'this.#bell.listening ? pollMs.floor : this.#idleMs',
    'this.#bell.listening ? leftMs : this.#idleMs',
    bell,
  ),
  mutant(
    'postgres-read-only-connection-kept',
    'F46: a connection to what is no longer the primary is used for ever',
    source('prepared.ts'),
    'client.release?.(broken)',
    'client.release?.()',
    test('heal/postgres-refusals'),
  ),
]
