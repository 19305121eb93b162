// Errors of the server that mean something to us, in words.
import { messageOf, RegrowError } from '../../base/errors.ts'
import { outOfMemory } from '../../queue/queue.ts'
import { isOutOfMemory, isUnauthenticated } from './client.ts'

/** The error itself, unless it is one that people can do something about. */
export function explained(error: unknown, namespace: string): unknown {
  if (isOutOfMemory(error))
    return new RegrowError(
      outOfMemory,
      'The queue has no memory for more hints',
      'Fewer are pushed for a while; the rows wait in the store. Raise maxmemory of the Redis server, or lower `maxHints`.',
      error,
    )
  if (isUnauthenticated(error))
    return new RegrowError(
      'queue_password',
      'The Redis server wants a password, and was given none or another one',
      'Put it into the address, redis://user:password@host:port, or into the client. Until then workers go on from the rows.',
      error,
    )
  if (/^(MOVED|CROSSSLOT) /.test(messageOf(error)))
    return new RegrowError(
      'queue_cluster',
      'The Redis server is a node of a cluster, and was addressed like a single one',
      'Pass a client of the cluster: redis(createCluster({ rootNodes: [{ url }] })), or a Cluster of ioredis or iovalkey.',
      error,
    )
  const owner = /REGROWFOREIGN (.*)/.exec(messageOf(error))?.[1]
  if (owner === undefined) return error
  return new RegrowError(
    'queue_foreign',
    `The hints of namespace "${namespace}" on this Redis server belong to another store: ${owner}`,
    'Give each application and stage a namespace of its own: redis(url, { namespace }). If the database was moved, delete ' +
      `the key {${namespace}}:owner (one per slot with \`shards\`): hints are only a view, and the sweep brings them back.`,
    error,
  )
}
