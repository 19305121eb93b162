// Mutants of the queue on Redis: its scripts by agreement with the simulated queue, its connections by tests on a server.
import { type Mutant, mutant, queueAgreement, test } from './mutant.ts'

const source = (name: string) => `src/drivers/redis/${name}`
const script = (name: string) => source(`scripts/${name}.lua`)
const onAServer = test('redis/queue')

export const ofRedis: readonly Mutant[] = [
  mutant(
    'redis-scripts-taken-for-granted',
    'M22: a server that has forgotten its scripts is an error',
    source('script.ts'),
    'if (!isUnknownScript(error)) throw error',
    'if (error) throw error',
    onAServer,
  ),
  {
    name: 'redis-blocked-connection-not-renewed',
    bug: 'M23: a blocked connection that has broken is used for ever',
    changes: [
      { file: source('connection.ts'), find: 'return wire?.usable ?', put: 'return wire ?' },
      {
        file: source('connection.ts'),
        find: 'if ((isMisplaced(error) || !isAnswer(error)) && this.#wire === wire) this.drop()',
        put: '',
      },
    ],
    finder: onAServer,
  },
  mutant(
    'redis-wake-not-passed-on',
    'who takes a token and leaves hints wakes nobody else',
    script('pop'),
    'then ring(job) else',
    'then job.woken = true else',
    onAServer,
  ),
  mutant(
    'redis-handed-over-without-room',
    'hints are handed over to a pop that waits for fewer, or for others',
    source('redis-queue.ts'),
    'if ((waiter.jobs.get(job) as PopJob).limit >= keys.length) {',
    'if (waiter.jobs.has(job)) {',
    onAServer,
  ),
  mutant(
    'redis-set-outlives-its-list',
    'members of a set whose list was evicted block their keys',
    script('prelude'),
    '(lane.count == 0) ~= (lane.length == 0)',
    'lane.count < 0',
    onAServer,
  ),
  mutant(
    'redis-any-store',
    'hints of another store in the same namespace are taken for ours',
    script('prelude'),
    "if found then return redis.error_reply('REGROWFOREIGN ' .. found) end",
    'if found then return nil end',
    onAServer,
  ),
  mutant(
    'redis-one-key-stops-all-jobs',
    'a key of one job with another type fails the pops of all jobs',
    script('prelude'),
    'if not repair_job(first) then error(why, 0) end',
    'error(why, 0)',
    test('redis/hostile'),
  ),
  mutant(
    'redis-rounded-mark',
    'S17: a mark that no client can count is rounded to another one',
    'src/job/canary-mark.ts',
    'Number.isSafeInteger(number) && number >= 0 && String(number) === String(given)',
    'number >= 0 && String(given) !== ""',
    test('unit/drivers/redis/codec'),
  ),
  mutant(
    'redis-moved-hint-stays',
    'a hint that is made fresh stays in the swept lane, too',
    script('push-prelude'),
    "from.count = from.count - call('SREM', from.set, unpack(keys))",
    '',
    queueAgreement,
  ),
  mutant(
    'redis-swept-lane-starves',
    'a pop leaves no part of it to the swept lane',
    script('pop'),
    "take('swept', share)",
    '',
    queueAgreement,
  ),
  mutant(
    'redis-delayed-never-due',
    'delayed hints of sweeps stay where they are',
    script('prelude'),
    'settle(job.swept, job.now)',
    '',
    queueAgreement,
  ),
  mutant(
    'redis-enqueue-not-sooner',
    'a fresh hint leaves the one that waits as late as it is',
    script('push-delayed'),
    'math.min(due[there[i]], scores[i])',
    'scores[i]',
    queueAgreement,
  ),
  mutant(
    'redis-old-sweep-fills-new-queue',
    'a sweep that began before a loss fills the queue that came after it',
    script('push-prelude'),
    "return not mark or string.match(mark, '^%S+') ~= ARGV[5]",
    'return not mark',
    queueAgreement,
  ),
  mutant(
    'redis-old-mark-raised',
    'M11: a mark that is behind is raised, and the sign is gone',
    script('advance-mark'),
    'tonumber(sequence) == known',
    'tonumber(sequence) <= known',
    queueAgreement,
  ),
]
