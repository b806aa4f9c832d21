/**
 * Connects the Redis cache: options that make ioredis fail fast instead of queueing, and the choice between one server
 * and a Cluster.
 */
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { type CacheScripts, cacheScripts } from './redis-scripts.ts'
import { parseRedisUrl, type RedisAddress, type RedisNode } from './redis-url.ts'

/** The connections of a Redis cache. */
export interface RedisConnections {
  /**
   * Runs the scripts. Reconnects by itself and refuses commands while it is not connected. Read it anew for each
   * command.
   */
  readonly commands: (Redis | Cluster) & CacheScripts
  /**
   * Opens a connection for subscriptions to the node that runs the scripts. It does not reconnect: open another one
   * when it has ended. Undefined while that node is not known.
   */
  openSubscriber(): Redis | undefined
  /** False when the scripts now run on another node than the one that `subscriber` is connected to. */
  isCurrent(subscriber: Redis): boolean
}

/** The hash slot of every `{keyhold}…` key (CRC16 of the tag, modulo 16384). */
export const keyholdSlot = 6392

/** A connection is closed if a request on it has no answer for this time, in milliseconds. */
export const deadAfterMs = 1000

const retryDelayMs = (attempt: number): number => Math.min(50 * attempt, 250)

const failFast = {
  // Nothing here needs RESP3, and RESP2 works without a HELLO.
  protocol: 2,
  disableClientInfo: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1000,
  socketTimeout: deadAfterMs,
  disconnectTimeout: 100,
  keepAlive: 5000,
  maxLoadingRetryTime: 200,
  // A master that has become a replica stays connected, but refuses writes: connect to the address again.
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
} as const satisfies RedisOptions

/**
 * Starts to connect and returns at once, also without Redis. `onError` gets the errors of connections.
 * @throws Error when `url` is not an address of Redis
 */
export function connectRedis(url: string, onError: (error: Error) => void): RedisConnections {
  const address = parseRedisUrl(url)
  return address.cluster ? connectCluster(address, onError) : connectServer(address.nodes[0], onError)
}

function connectServer(node: RedisNode, onError: (error: Error) => void): RedisConnections {
  const options = { ...failFast, ...login(node), host: node.host, port: node.port, db: node.db }
  const commands = new Redis({ ...options, scripts: cacheScripts, retryStrategy: retryDelayMs })
  commands.on('error', (error) => {
    if (isOfSelect(error)) commands.disconnect(true)
    // Commands that follow fail because of the first error: their errors say nothing new.
    if (!error.message.includes('enableOfflineQueue')) onError(error)
  })
  return {
    get commands() {
      gatherWrites(commands.stream)
      return withScripts(commands)
    },
    openSubscriber: () => new Redis({ ...options, retryStrategy: null }),
    isCurrent: () => true,
  }
}

/**
 * True if Redis refused the database of the address. ioredis would go on with number 0, which may belong to another
 * program.
 */
const isOfSelect = (error: Error & { readonly command?: { readonly name?: string } }): boolean =>
  error.command?.name === 'select'

/** Sends all commands of this turn of the event loop in one write. ioredis would write each command on its own. */
function gatherWrites(socket: Redis['stream'] | undefined): void {
  if (socket === undefined || socket.writableCorked > 0) return
  socket.cork()
  setImmediate(() => socket.uncork())
}

function connectCluster(address: RedisAddress, onError: (error: Error) => void): RedisConnections {
  const { enableOfflineQueue, ...nodeOptions } = failFast
  const [first] = address.nodes
  const commands = new Cluster([...address.nodes.map(({ host, port }) => ({ host, port }))], {
    redisOptions: { ...nodeOptions, ...login(first) },
    scripts: cacheScripts,
    enableOfflineQueue,
    clusterRetryStrategy: retryDelayMs,
    maxRedirections: 4,
    slotsRefreshTimeout: 500,
    slotsRefreshInterval: 2000,
    // Certificates contain names: keep names instead of resolving them.
    ...(first.tls && { dnsLookup: (host, done) => done(null, host) }),
  })
  commands.on('error', onError)
  commands.on('node error', onError)
  const keyOfOwner = () => commands.slots[keyholdSlot]?.[0]
  return {
    commands: withScripts(commands),
    openSubscriber: () => {
      const owner = commands.nodes('master').find((node) => nodeKey(node) === keyOfOwner())
      return owner?.duplicate({ enableOfflineQueue, lazyConnect: false, retryStrategy: null })
    },
    isCurrent: (subscriber) => nodeKey(subscriber) === keyOfOwner(),
  }
}

// ioredis defines the methods of `scripts` at run time; its types do not have them.
const withScripts = <Client extends Redis | Cluster>(client: Client): Client & CacheScripts =>
  client as Client & CacheScripts

const nodeKey = (node: Redis): string => `${node.options.host}:${node.options.port}`

function login(node: RedisNode): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  return {
    ...(node.username !== undefined && { username: node.username }),
    ...(node.password !== undefined && { password: node.password }),
    ...(node.tls && { tls: {} }),
  }
}
