/**
 * Opens the socket to a PostgreSQL server, encrypted if the URL asks for it. postgres.js could encrypt itself, but then
 * the encrypted socket cannot be reached: closing a session would break the socket below it, and with it the process
 * (EBADF).
 */
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** The supported values of `sslmode`. */
export const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const

/**
 * The modes of libpq. `disable` and `prefer` allow plain text, `require` encrypts with any certificate, `verify-ca`
 * needs a valid certificate, `verify-full` needs a valid certificate for the host.
 */
export type SslMode = (typeof sslModes)[number]

/** The address of a PostgreSQL server. */
export interface ServerAddress {
  readonly host: string
  readonly port: number
  /** A socket in the file system, instead of host and port. */
  readonly path: string | undefined
  readonly sslMode: SslMode
}

/**
 * Opens a socket. `onSocket` gets each socket at once: the plain one before it connects, and then the encrypted one.
 * The last one is the one to destroy. Rejects with the error of the socket.
 */
export async function openSocket(address: ServerAddress, onSocket: (socket: Socket) => void): Promise<Socket> {
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

/** The SSLRequest of PostgreSQL (protocol, section 55.2.10). The answer is one byte, S or N. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

async function offersTls(socket: Socket, sslMode: SslMode): Promise<boolean> {
  socket.write(sslRequest)
  const answer = String(await happens(socket, 'data'))
  if (answer === 'S') return true
  if (answer === 'N' && sslMode === 'prefer') return false
  // Bytes behind the first one were inserted before the encryption began (CVE-2021-23222).
  throw new Error(
    answer === 'N' ? 'the server does not offer TLS' : 'the server gave no proper answer to the request for TLS',
  )
}

const happens = (socket: Socket, event: 'connect' | 'data' | 'secureConnect'): Promise<unknown> =>
  new Promise((resolve, reject) => {
    socket.once(event, resolve)
    socket.once('close', () => reject(new Error('the connection was closed')))
    // This listener stays: an error between two users of the socket must be handled.
    socket.on('error', reject)
  })
