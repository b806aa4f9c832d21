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

/** A master that Sentinels watch. */
export interface WatchedMaster {
  readonly name: string
  /** The login at the Sentinels themselves. */
  readonly sentinelUsername?: string
  readonly sentinelPassword?: string
}

/**
 * The nodes of a `REDIS_URL`. All nodes use the credentials and the TLS choice of the first one. With a `master` the
 * nodes are Sentinels, and the credentials are those of the master.
 */
export interface RedisAddress {
  readonly cluster: boolean
  readonly nodes: readonly [RedisNode, ...RedisNode[]]
  readonly master?: WatchedMaster
}

/** The value of REDIS_URL that says that there is no Redis on purpose. */
export const noRedis = 'none'

/** The forms of an address, for settings and errors. */
export const redisUrlForms =
  'redis://host:port or rediss://host:port, several with commas between for a Cluster, or ' +
  'redis+sentinel://host:port,host:port/MASTER for Sentinels'

/**
 * Reads `redis://…`, `rediss://…`, a comma-separated list of nodes, or `redis+sentinel://s1,s2,s3/MASTER`. A list is a
 * Redis Cluster, and so is a single node with a comma behind it. The scheme may be left out after the first node.
 * @throws Error whose message contains nothing of `url`, since `url` may contain a password
 */
export function parseRedisUrl(url: string): RedisAddress {
  const [, secure, rest] = /^redis(s?)\+sentinel:\/\/(.*)$/s.exec(url.trim()) ?? []
  if (rest !== undefined) return parseSentinels(rest, secure === 's')
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

/** `[user:password@]host[:port],…/MASTER[/db][?sentinelUsername=…&sentinelPassword=…]` */
function parseSentinels(rest: string, tls: boolean): RedisAddress {
  const [, login = '', hosts = '', name = '', db = '', query = ''] =
    /^((?:[^/?#]*@)?)([^/?#@]+)\/([^/?#]+)(?:\/(\d*))?(?:\?([^#]*))?$/s.exec(rest) ?? []
  const scheme = tls ? 'rediss' : 'redis'
  const nodes = hosts.split(',').map((host) => parseNode(`${scheme}://${login}${host.trim()}/${db}`, 26_379))
  const [first, ...others] = nodes
  if (first === undefined) throw invalid()
  return { cluster: false, nodes: [first, ...others], master: { name: decoded(name), ...sentinelLogin(query) } }
}

function sentinelLogin(query: string): Omit<WatchedMaster, 'name'> {
  const known = ['sentinelUsername', 'sentinelPassword']
  // A plus is a plus in a password, not a space as in a form.
  const parameters = [...new URLSearchParams(query.replaceAll('+', '%2B'))]
  const isKnown = ([name, value]: [string, string]) => known.includes(name) && value !== ''
  const names = new Set(parameters.map(([name]) => name))
  if (!parameters.every(isKnown) || names.size < parameters.length) throw invalid()
  return Object.fromEntries(parameters)
}

function parseNode(text: string, defaultPort = 6379): RedisNode {
  if (!URL.canParse(text)) throw invalid()
  const url = new URL(text)
  const db = url.pathname.replace(/^\//, '')
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '' || !/^\d*$/.test(db)) throw invalid()
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || defaultPort),
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

const invalid = (): Error => new Error(`the address of Redis must be ${redisUrlForms}`)
