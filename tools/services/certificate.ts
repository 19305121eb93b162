// A self-signed certificate for a test server on 127.0.0.1, made with openssl in the server's folder.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { unprivilegedUser } from './unprivileged-user.ts'

/** Makes the certificate, and answers the lines of redis.conf that make a server speak only TLS with it. */
export function makeCertificate(home: string): Record<string, string> {
  const [key, cert] = [join(home, 'tls.key'), join(home, 'tls.crt')]
  const type = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  try {
    execFileSync('openssl', ['req', '-x509', ...type, ...subject, '-keyout', key, '-out', cert], {
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      ...unprivilegedUser(),
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Error(
      'A server with TLS needs a certificate, and this machine has no openssl to make one. Install openssl.',
    )
  }
  return { 'tls-cert-file': cert, 'tls-key-file': key, 'tls-ca-cert-file': cert, 'tls-auth-clients': 'no' }
}
