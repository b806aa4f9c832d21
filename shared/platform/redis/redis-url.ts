import { isLoopbackHost } from '../loopback.ts'

/** The address of one Redis node and the login there. */
export interface RedisNode {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly username?: string
  readonly password?: string
  /** Number of the logical database; a Cluster has only 0. */
  readonly db: number
}

/** The nodes of a `REDIS_URL`. All nodes of a Cluster use the credentials and the TLS choice of the first one. */
export interface RedisAddress {
  readonly cluster: boolean
  readonly nodes: readonly [RedisNode, ...RedisNode[]]
}

/**
 * Reads `redis://…`, `rediss://…` or a comma-separated list of nodes. A list is a Redis Cluster, and so is a single
 * node with a comma behind it. The scheme may be left out after the first node.
 * @throws Error whose message contains nothing of `url`, since `url` may contain a password
 */
export function parseRedisUrl(url: string): RedisAddress {
  const [first, ...others] = url
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part, index) => parseNode(index > 0 && !part.includes('://') ? `redis://${part}` : part))
  if (first === undefined) throw invalid()
  return { cluster: url.includes(','), nodes: [first, ...others] }
}

/** True if `parseRedisUrl` accepts it. */
export function isRedisUrl(url: string): boolean {
  try {
    parseRedisUrl(url)
    return true
  } catch {
    return false
  }
}

/** True if data for this Redis stays on this machine, or is encrypted for a host with a verified certificate. */
export const isVerifiedRedisUrl = (url: string): boolean =>
  parseRedisUrl(url).nodes.every(({ host, tls }, _, [first]) => isLoopbackHost(host) || (first?.tls ?? tls))

function parseNode(text: string): RedisNode {
  if (!URL.canParse(text)) throw invalid()
  const url = new URL(text)
  const db = url.pathname.replace(/^\//, '')
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '' || !/^\d*$/.test(db)) throw invalid()
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 6379),
    tls: url.protocol === 'rediss:',
    ...(url.username && { username: decoded(url.username) }),
    ...(url.password && { password: decoded(url.password) }),
    db: Number(db),
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid()
  }
}

const invalid = (): Error =>
  new Error(
    'the address of Redis must be redis://host:port, rediss://host:port, or several of them separated by commas',
  )
