import { isLoopbackHost } from '../loopback.ts'

/** The address of one Redis node and the login there. */
export interface RedisNode {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly username?: string
  readonly password?: string
  /** Number of the logical database. */
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
 * One server as a `REDIS_URL` names it. With a `master` the nodes are Sentinels, and the credentials are those of the
 * master.
 */
export interface RedisAddress {
  readonly nodes: readonly [RedisNode, ...RedisNode[]]
  readonly master?: WatchedMaster
}

/** The value of REDIS_URL that says that there is no Redis on purpose. */
export const noRedis = 'none'

/** The forms of an address, for settings and errors. */
export const redisUrlForms =
  'redis://host:port or rediss://host:port (no Redis Cluster, which is not used), or ' +
  'redis+sentinel://host:port,host:port/MASTER for Sentinels'

/**
 * Reads `redis://…`, `rediss://…` or `redis+sentinel://s1,s2,s3/MASTER`. A list of nodes would be a Redis Cluster.
 * @throws Error whose message contains nothing of `url`, since `url` may contain a password
 */
export function parseRedisUrl(url: string): RedisAddress {
  const [, secure, rest] = /^redis(s?)\+sentinel:\/\/(.*)$/s.exec(url.trim()) ?? []
  if (rest !== undefined) return parseSentinels(rest, secure === 's')
  if (url.includes(',')) throw invalid()
  return { nodes: [parseNode(url.trim())] }
}

/** True if data for this Redis stays on this machine, or is encrypted for a host with a verified certificate. */
export const isVerifiedRedisUrl = (url: string): boolean =>
  parseRedisUrl(url).nodes.every(({ host, tls }) => isLoopbackHost(host) || tls)

/** `[user:password@]host[:port],…/MASTER[/db][?sentinelUsername=…&sentinelPassword=…]` */
function parseSentinels(rest: string, tls: boolean): RedisAddress {
  const [, login = '', hosts = '', name = '', path = '', query = ''] =
    /^((?:[^/?#]*@)?)([^/?#@]+)\/([^/?#]+)(?:\/(\d*))?(?:\?([^#]*))?$/s.exec(rest) ?? []
  const { db = path, ...sentinelLogin } = parametersIn(query, ['db', 'sentinelUsername', 'sentinelPassword'])
  const scheme = tls ? 'rediss' : 'redis'
  const nodes = hosts.split(',').map((host) => parseNode(`${scheme}://${login}${host.trim()}/${db}`, 26_379))
  const [first, ...others] = nodes
  if (first === undefined) throw invalid()
  return { nodes: [first, ...others], master: { name: decoded(name), ...sentinelLogin } }
}

/** Parameters that are known, each once. A plus is a plus in a password, not a space as in a form. */
function parametersIn<Name extends string>(query: string, known: readonly Name[]): Partial<Record<Name, string>> {
  const parameters = [...new URLSearchParams(query.replaceAll('+', '%2B'))]
  const isKnown = ([name, value]: readonly [string, string]) => known.some((each) => each === name) && value !== ''
  const [unknown] = parameters.find((parameter) => !isKnown(parameter)) ?? []
  if (unknown !== undefined) {
    // Below a mistake, it may be a part of a password.
    const shown = /^[A-Za-z_.]{1,40}$/.test(unknown) ? unknown : 'a parameter'
    throw new Error(`the address of Redis must be without ${shown}: it may have ${known.join(', ')}`)
  }
  if (new Set(parameters.map(([name]) => name)).size < parameters.length) throw invalid()
  return Object.fromEntries(parameters) as Partial<Record<Name, string>>
}

function parseNode(text: string, defaultPort = 6379): RedisNode {
  if (!URL.canParse(text)) throw invalid()
  const url = new URL(text)
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') throw invalid()
  if (/[#@]/.test(url.pathname + url.search + url.hash)) throw new Error(`${encodeLogin} an @ or a # behind the host`)
  const path = url.pathname.replace(/^\//, '')
  const { db = path } = parametersIn(url.search, ['db'])
  if (!/^\d{0,9}$/.test(path + db)) throw invalid()
  if (path !== '' && path !== db) {
    throw new Error('the address of Redis must be one with one database, behind its port or as db')
  }
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
    throw new Error(`${encodeLogin} a % that encodes nothing`)
  }
}

const encodeLogin = 'the address of Redis must be percent-encoded in user and password: it has'

const invalid = (): Error =>
  new Error(`the address of Redis must be ${redisUrlForms}, with user and password percent-encoded`)
