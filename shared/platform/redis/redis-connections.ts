/**
 * Connects the Redis cache: options that make ioredis fail fast instead of queueing, and the choice between one server
 * and a master that Sentinels watch.
 */
import { Redis, type RedisOptions } from 'ioredis'
import { type Advice, isSentinel, nodeOfCluster, sentinelLogin, unknownMaster } from './redis-advice.ts'
import { type CacheScripts, cacheScripts } from './redis-scripts.ts'
import { parseRedisUrl, type RedisAddress, type RedisNode, type WatchedMaster } from './redis-url.ts'

/** The connections of a Redis cache. */
export interface RedisConnections {
  /**
   * Runs the scripts. Reconnects by itself and refuses commands while it is not connected. Read it again for each
   * command.
   */
  readonly commands: Redis & CacheScripts
  /**
   * Opens a connection for subscriptions. It does not reconnect: open another one when it has ended. Undefined when the
   * server is a node of a Cluster.
   */
  openSubscriber(): Redis | undefined
  /** False when `subscriber` is connected to a master that another one has replaced. */
  isCurrent(subscriber: Redis): boolean
}

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

interface ConnectionObserver {
  onError(error: Error): void
  readonly advice: Advice
}

/**
 * Starts to connect and returns at once, also without Redis.
 * @throws Error when `url` is not an address of Redis
 */
export function connectRedis(url: string, observer: ConnectionObserver): RedisConnections {
  const address = parseRedisUrl(url)
  if (address.master !== undefined) return connectMaster(address, address.master, observer)
  return connectServer(address.nodes[0], observer)
}

/**
 * Connects to one server. A node of a Cluster is not used: it has a part of the keys alone, and a run of its own.
 */
function connectServer(node: RedisNode, { onError, advice }: ConnectionObserver): RedisConnections {
  const options = { ...failFast, ...login(node), host: node.host, port: node.port, db: node.db }
  const commands = new Redis({ ...options, scripts: cacheScripts, retryStrategy: retryDelayMs })
  let isRefused = false
  const refuse = () => {
    isRefused = true
    advice.give(nodeOfCluster)
    onError(new Error(nodeOfCluster))
    commands.disconnect()
  }
  commands.on('error', (error) => {
    if (/SELECT is not allowed in cluster mode/.test(error.message)) return refuse()
    if (isOfSelect(error)) commands.disconnect(true)
    // Commands that follow fail because of the first error: their errors say nothing new.
    if (!error.message.includes('enableOfflineQueue')) onError(error)
  })
  commands.on('ready', async () => {
    const mode = await modeOf(commands)
    if (mode === 'sentinel') advice.give(isSentinel)
    if (mode === 'cluster') refuse()
  })
  return {
    get commands() {
      gatherWrites(commands.stream)
      return withScripts(commands)
    },
    openSubscriber: () => (isRefused ? undefined : new Redis({ ...options, retryStrategy: null })),
    isCurrent: () => !isRefused,
  }
}

/** `standalone`, `cluster` or `sentinel`; undefined when the server does not say. */
async function modeOf(server: Redis): Promise<string | undefined> {
  const info = await server.info('server').catch(() => '')
  return /^redis_mode:(\w+)/m.exec(info)?.[1]
}

/** Connects to the master that the Sentinels name. When it fails, they are asked again. */
function connectMaster(
  { nodes: [first, ...others] }: RedisAddress,
  { name, sentinelUsername, sentinelPassword }: WatchedMaster,
  { onError, advice }: ConnectionObserver,
): RedisConnections {
  const options = {
    ...failFast,
    ...login(first),
    db: first.db,
    sentinels: [first, ...others].map(({ host, port }) => ({ host, port })),
    name,
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    // Each Sentinel that does not answer takes this time.
    connectTimeout: 500,
    sentinelCommandTimeout: 500,
    ...(first.tls && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
  }
  const commands = new Redis({
    ...options,
    scripts: cacheScripts,
    retryStrategy: retryDelayMs,
    sentinelRetryStrategy: retryDelayMs,
  })
  let isUnknown = false
  commands.on('sentinelError', ({ message }: Error) => {
    isUnknown ||= /No such master|got an invalid reply: null$/.test(message)
    if (/NOAUTH|WRONGPASS/.test(message)) advice.give(sentinelLogin)
  })
  commands.on('error', (error: Error) => {
    if (isOfSelect(error)) commands.disconnect(true)
    const isAboutAll = error.message.startsWith('All sentinels are unreachable')
    if (isAboutAll && isUnknown) {
      isUnknown = false
      advice.give(unknownMaster(name))
      onError(new Error(unknownMaster(name)))
      return
    }
    // ioredis says so without a last error when it begins with the first Sentinel again.
    const saysNothing = isAboutAll && !error.message.includes('Last error')
    if (!saysNothing && !error.message.includes('enableOfflineQueue')) onError(error)
  })
  return {
    get commands() {
      gatherWrites(commands.stream)
      return withScripts(commands)
    },
    openSubscriber: () => new Redis({ ...options, retryStrategy: null, sentinelRetryStrategy: () => null }),
    // A former master that is now a replica would pass messages on late.
    isCurrent: (subscriber) => commands.status !== 'ready' || addressOf(subscriber) === addressOf(commands),
  }
}

const addressOf = ({ stream }: Redis): string => `${stream?.remoteAddress}:${stream?.remotePort}`

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

// ioredis defines the methods of `scripts` at run time; its types do not have them.
const withScripts = (client: Redis): Redis & CacheScripts => client as Redis & CacheScripts

function login(node: RedisNode): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  return {
    ...(node.username !== undefined && { username: node.username }),
    ...(node.password !== undefined && { password: node.password }),
    ...(node.tls && { tls: {} }),
  }
}
