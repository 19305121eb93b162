// What is wrong with the queue and its server. In: its facts. Out: findings. Pure. A queue is a view: none of it loses work.
import type { QueueInfo } from '../../queue/queue.ts'
import type { DoctorFinding } from './finding.ts'
import { type DoctorCode, whys } from './finding-texts.ts'

/** More than this, and a burst fills it. */
const memoryMuch = 0.8
/** The queue empties a table by itself that is four times as large as its hints, from 8 MiB on. */
const bloat = { bytes: 64 * 1024 * 1024, bytesPerHint: 1_024 }

/** `name`: of the queue. `fleet`: live workers. */
export function ofQueue(name: string, shared: boolean, facts: QueueInfo, fleet: number): DoctorFinding[] {
  const finding = (
    level: DoctorFinding['level'],
    code: DoctorCode,
    message: string,
    hint: string,
    fix: string | null = null,
  ) => ({
    ...{ level, code, job: null, message: `The queue (${name}) ${message}`, why: whys[code], hint, fix },
  })
  const { server, memory, eviction, size, wakes, refused } = facts
  const found: DoctorFinding[] = []
  if (server && older(server.version, server.least))
    found.push(
      finding('bad', 'queue_old', `is on ${server.name} ${server.version}`, `Upgrade it to ${server.least} or newer.`),
    )
  if (eviction !== undefined && eviction !== 'none')
    found.push(
      finding(
        memory?.most === null ? 'note' : 'warn',
        'queue_evicts',
        `has the policy ${eviction}${memory?.most === null ? ', and no limit of memory at which it would matter' : ''}`,
        'Set maxmemory-policy to noeviction; on a managed server it is a setting of its own. Then pushes are refused when it is full, told, and made up for.',
      ),
    )
  if (memory?.most && memory.used > memoryMuch * memory.most)
    found.push(
      finding(
        'warn',
        'queue_memory',
        `uses ${mebibytes(memory.used)} of ${mebibytes(memory.most)} MiB`,
        'Raise maxmemory, lower `maxHints`, or see what else is on this server.',
      ),
    )
  if (size && size.bytes > bloat.bytes && size.bytes > bloat.bytesPerHint * size.hints)
    found.push(
      finding(
        'warn',
        'queue_bloat',
        `takes ${mebibytes(size.bytes)} MiB for ${size.hints.toLocaleString('en')} hints`,
        'Workers empty it by themselves when they may: grant truncate on regrow.hints and regrow.canary to their user, and look for transactions that are open for long. Its rows are a view, and come back.',
        'truncate regrow.hints, regrow.canary;',
      ),
    )
  if (wakes === false)
    found.push(
      finding(
        'note',
        'queue_polls',
        'cannot listen for pushes here',
        'Give postgres() the address of the server itself, not of a pooler, nor a single client.',
      ),
    )
  if (!shared && fleet > 1)
    found.push(
      finding(
        'warn',
        'queue_not_shared',
        `is this process's own, and ${fleet} workers live`,
        'Use redis(…), or leave `queue` out with postgres(…).',
      ),
    )
  if (refused !== undefined)
    found.push(
      finding(
        'note',
        'not_examined',
        `did not say how it stands: ${refused}`,
        'Allow its user INFO (+info), if you may.',
      ),
    )
  return found
}

const mebibytes = (bytes: number) => Math.round(bytes / 1024 / 1024).toLocaleString('en')

/** Versions by their numbers: 6.10 is newer than 6.2. What is no version is nobody's. */
function older(version: string, least: string): boolean {
  if (!/^\d+(\.\d+)*$/.test(version)) return false
  const [a, b] = [version, least].map((text) => text.split('.').map(Number)) as [number[], number[]]
  const at = b.findIndex((part, i) => (a[i] ?? 0) !== part)
  return at >= 0 && (a[at] ?? 0) < (b[at] as number)
}
