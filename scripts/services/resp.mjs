// One command on a Redis server, over a connection of its own: enough to start, examine and harm a server in tests.

import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** See index.d.mts. */
export async function redisCommand(url, ...args) {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const commands = []
  if (password) {
    const user = username ? [decodeURIComponent(username)] : []
    commands.push(['AUTH', ...user, decodeURIComponent(password)])
  }
  const database = pathname.slice(1)
  if (database && database !== '0') commands.push(['SELECT', database])
  commands.push(args)

  const where = { host: hostname, port: Number(port || 6379) }
  const socket = protocol === 'rediss:' ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where)
  try {
    const replies = await exchange(socket, commands)
    for (const reply of replies) if (reply instanceof Error) throw reply
    return replies.at(-1)
  } finally {
    socket.destroy()
  }
}

function exchange(socket, commands) {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    socket.setNoDelay(true)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed the connection without an answer')))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const replies = []
      for (let at = 0; replies.length < commands.length; ) {
        const read = readReply(received, at)
        if (read === undefined) return
        replies.push(read.value)
        at = read.end
      }
      resolve(replies)
    })
    socket.write(commands.map(encode).join(''))
  })
}

const encode = (args) => {
  const parts = args.map(String).map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`)
  return `*${args.length}\r\n${parts.join('')}`
}

/** The reply that begins at `at`; undefined while it is not all there. An error inside a reply is a value. */
function readReply(buffer, at) {
  const lineEnd = buffer.indexOf('\r\n', at)
  if (lineEnd < 0) return undefined
  const kind = String.fromCharCode(buffer[at])
  const line = buffer.toString('utf8', at + 1, lineEnd)
  const after = lineEnd + 2
  if (kind === '+') return { value: line, end: after }
  if (kind === '-') return { value: new Error(line), end: after }
  if (kind === ':') return { value: Number(line), end: after }
  const length = Number(line)
  if (length < 0) return { value: null, end: after }
  if (kind === '$') {
    const end = after + length + 2
    return buffer.length < end ? undefined : { value: buffer.toString('utf8', after, end - 2), end }
  }
  const values = []
  let end = after
  while (values.length < length) {
    const read = readReply(buffer, end)
    if (read === undefined) return undefined
    values.push(read.value)
    end = read.end
  }
  return { value: values, end }
}
