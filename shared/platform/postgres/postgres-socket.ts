/**
 * The socket to a PostgreSQL server, encrypted where the URL asks for it. postgres.js could do the encrypting itself, but then the
 * encrypted socket is out of reach: when a session is given up, the one below it breaks and the process with it (EBADF).
 */
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/**
 * As libpq names them: `disable` and `prefer` may be plain text, `require` encrypts for any certificate, `verify-ca` wants a valid one,
 * `verify-full` a valid one for the host.
 */
export type SslMode = (typeof sslModes)[number]

export interface ServerAddress {
  readonly host: string
  readonly port: number
  /** A socket in the file system, instead of host and port. */
  readonly path: string | undefined
  readonly sslMode: SslMode
}

/**
 * The parameter `sslmode` of a database URL; `disable` when there is none.
 *
 * @throws TypeError for a mode that is not supported, and for other parameters about TLS, which would change nothing
 */
export const sslModeOf = (url: string): SslMode => {
  const parameters = [...new URL(url).searchParams].filter(([name]) => /^ssl/i.test(name))
  const [[name, asked] = ['sslmode', 'disable'], ...others] = parameters
  const mode = sslModes.find((each) => each === asked)
  if (name !== 'sslmode' || mode === undefined || others.length > 0) {
    throw new TypeError(`the database URL may say of TLS nothing but sslmode, one of ${sslModes.join(', ')}`)
  }
  return mode
}

/**
 * Opens a socket. `onSocket` is told of each socket at once, before it is connected and again when it is encrypted: the last one
 * is the one to destroy. Rejects with the socket's error.
 */
export const openSocket = async (address: ServerAddress, onSocket: (socket: Socket) => void): Promise<Socket> => {
  const { host, port, path, sslMode } = address
  const socket = path === undefined ? connect({ host, port, noDelay: true }) : connect(path)
  onSocket(socket)
  await happens(socket, 'connect')
  if (sslMode === 'disable' || !(await offersTls(socket, sslMode))) return socket
  const servername = isIP(host) === 0 ? host : ''
  const rejectUnauthorized = sslMode === 'verify-ca' || sslMode === 'verify-full'
  const anyHost = sslMode === 'verify-ca' && { checkServerIdentity: () => undefined }
  const encrypted = connectTls({ socket, host, servername, rejectUnauthorized, ...anyHost })
  onSocket(encrypted)
  await happens(encrypted, 'secureConnect')
  return encrypted
}

/** PostgreSQL's SSLRequest (protocol, section 55.2.10): one byte answers it, S or N. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

const offersTls = async (socket: Socket, sslMode: SslMode): Promise<boolean> => {
  socket.write(SSL_REQUEST)
  const answer = String(await happens(socket, 'data'))
  if (answer === 'S') return true
  if (answer === 'N' && sslMode === 'prefer') return false
  // More than one byte would be something slipped in before the encryption (CVE-2021-23222).
  throw new Error(
    answer === 'N' ? 'the server does not offer TLS' : 'the server gave no proper answer to the request for TLS',
  )
}

const happens = (socket: Socket, event: 'connect' | 'data' | 'secureConnect'): Promise<unknown> =>
  new Promise((resolve, reject) => {
    socket.once(event, resolve)
    socket.once('close', () => reject(new Error('the connection was closed')))
    // Stays: an error between two owners of the socket must not go unhandled.
    socket.on('error', reject)
  })
