// One command on a Redis server, over a connection that only it uses: enough to start, examine and harm a server in tests.

import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** An error inside of a list is a value. */
export type RedisReply = string | number | null | Error | RedisReply[]
type Argument = string | number

/** One command on any server (`redis://`, or `rediss://` with any certificate); an error reply is thrown. */
export async function redisCommand(url: string, ...args: Argument[]): Promise<RedisReply> {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const commands: Argument[][] = []
  if (password) {
    const user = username ? [decodeURIComponent(username)] : []
    commands.push(['AUTH', ...user, decodeURIComponent(password)])
  }
  const database = pathname.slice(1)
  if (database && database !== '0') commands.push(['SELECT', database])
  commands.push(args)

  const address = { host: hostname, port: Number(port || 6379) }
  const socket = protocol === 'rediss:' ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address)
  try {
    const replies = await exchange(socket, commands)
    for (const reply of replies) if (reply instanceof Error) throw reply
    return replies.at(-1) as RedisReply
  } finally {
    socket.destroy()
  }
}

function exchange(socket: Socket, commands: readonly Argument[][]): Promise<RedisReply[]> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    socket.setNoDelay(true)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed the connection without an answer')))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const replies = readReplies(received, 0, commands.length)
      if (replies) resolve(replies.value)
    })
    socket.write(commands.map(encode).join(''))
  })
}

const encode = (args: readonly Argument[]): string => {
  const parts = args.map(String).map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`)
  return `*${args.length}\r\n${parts.join('')}`
}

interface Read<Value> {
  readonly value: Value
  /** Where the next reply begins. */
  readonly end: number
}

/** The replies that begin at `at`; undefined while they are not complete. */
function readReplies(buffer: Buffer, at: number, count: number): Read<RedisReply[]> | undefined {
  const value: RedisReply[] = []
  let end = at
  while (value.length < count) {
    const read = readReply(buffer, end)
    if (read === undefined) return undefined
    value.push(read.value)
    end = read.end
  }
  return { value, end }
}

function readReply(buffer: Buffer, at: number): Read<RedisReply> | undefined {
  const lineEnd = buffer.indexOf('\r\n', at)
  if (lineEnd < 0) return undefined
  const kind = buffer.toString('latin1', at, at + 1)
  const line = buffer.toString('utf8', at + 1, lineEnd)
  const after = lineEnd + 2
  if (kind === '+') return { value: line, end: after }
  if (kind === '-') return { value: new Error(line), end: after }
  if (kind === ':') return { value: Number(line), end: after }
  const length = Number(line)
  if (length < 0) return { value: null, end: after }
  if (kind !== '$') return readReplies(buffer, after, length)
  const end = after + length + 2
  return buffer.length < end ? undefined : { value: buffer.toString('utf8', after, end - 2), end }
}
