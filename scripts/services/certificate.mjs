// A certificate for a test server on 127.0.0.1, signed by itself, made with openssl into the server's folder.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { serverAccount } from './account.mjs'

/** The lines of redis.conf that make a server speak TLS alone. @param {string} home */
export function certificate(home) {
  const [key, cert] = [join(home, 'tls.key'), join(home, 'tls.crt')]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const whom = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  try {
    execFileSync('openssl', ['req', '-x509', ...kind, ...whom, '-keyout', key, '-out', cert], {
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      ...serverAccount(),
    })
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    throw new Error(
      'A server with TLS needs a certificate, and this machine has no openssl to make one. Install openssl.',
    )
  }
  return { 'tls-cert-file': cert, 'tls-key-file': key, 'tls-ca-cert-file': cert, 'tls-auth-clients': 'no' }
}
