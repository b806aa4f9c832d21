/**
 * Finds the server of a database that takes writes. One server alone is it without a question. Of several, all are
 * asked at once, so that one that does not answer delays nobody; what is found is kept until a session to it is lost.
 */
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { DeadlinePassed, withDeadline } from '../concurrency/deadline.ts'
import { translateDriverError, unavailable } from '../database/driver-errors.ts'
import { createClient } from './postgres-client.ts'
import { openSocket, type ServerAddress } from './postgres-socket.ts'
import { type DatabaseAddress, serverNameOf, type TargetSession } from './postgres-url.ts'

/** Time limits of a search; milliseconds. */
interface SearchLimits {
  /** How long a server may take to answer. */
  readonly answerMs: number
  /** How long others are waited for when one server can be used: an earlier one may, too. */
  readonly graceMs: number
  /** How soon a server that cannot be used is asked again, while others still have to answer. */
  readonly againMs: number
}

const limits: SearchLimits = { answerMs: 1000, graceMs: 250, againMs: 200 }

/** The longest time that a connection to one of several servers may take, in milliseconds. */
export const dialTimeoutMs = 1000

/** What a server says of itself. */
interface ServerState {
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  /** The id of the cluster and the timeline that a primary writes. */
  readonly system?: string
  readonly timeline?: number
}

/** A server, and why it cannot be used; no reason when it can. */
interface Finding {
  readonly server: ServerAddress
  readonly state?: ServerState
  readonly reason?: string
}

/** The servers of one database, for all its sessions. */
export class PostgresServers {
  readonly address: DatabaseAddress
  readonly #ask: typeof askServer
  #found: ServerAddress | undefined
  #search: Promise<ServerAddress> | undefined
  /** The newest timeline that a primary had, and of which cluster. */
  #newest: { readonly system: string; readonly timeline: number } | undefined

  constructor(address: DatabaseAddress, ask: typeof askServer = askServer) {
    this.address = address
    this.#ask = ask
  }

  /** True if there is a choice. */
  get areSeveral(): boolean {
    return this.address.servers.length > 1
  }

  /**
   * The server to connect to. Concurrent callers share one search.
   *
   * @throws Unavailable when no server can be used; it says of each why not, and what to do
   */
  async find(): Promise<ServerAddress> {
    if (!this.areSeveral) return this.address.servers[0]
    if (this.#found !== undefined) return this.#found
    this.#search ??= this.#findAnew().finally(() => {
      this.#search = undefined
    })
    return this.#search
  }

  /** Notes that a session to this server was lost, or could not be opened: the next one begins with a search. */
  forget(server: ServerAddress): void {
    if (this.#found === server) this.#found = undefined
  }

  /** True when another server is used by now: what goes to this one may wait for ever, or be lost. */
  hasMovedFrom(server: ServerAddress): boolean {
    return this.#found !== undefined && this.#found !== server
  }

  /** Why a standby cannot be used; undefined when it can. */
  refusalOfStandby(): string | undefined {
    return refusal({ isStandby: true, isReadOnly: true }, this.address.target)
  }

  /**
   * Why a server that reports this setting cannot be used; undefined when it can. A pooler reports what was true when
   * it met the server first, so its reports say nothing.
   */
  refusalOf(setting: string, value: string): string | undefined {
    const { target, isPooled } = this.address
    if (value !== 'on' || isPooled) return undefined
    if (setting === 'in_hot_standby') return this.refusalOfStandby()
    if (setting === 'default_transaction_read_only') return refusal({ isStandby: false, isReadOnly: true }, target)
    return undefined
  }

  async #findAnew(): Promise<ServerAddress> {
    const findings = await this.#askAll()
    const usable = findings.filter(({ reason }) => reason === undefined)
    // A former primary that came back after a promotion has an older timeline.
    const [best] = [...usable].sort((one, other) => (other.state?.timeline ?? 0) - (one.state?.timeline ?? 0))
    if (best === undefined) throw unavailable(this.#noServer(findings))
    const { system, timeline } = best.state ?? {}
    if (system !== undefined && timeline !== undefined) this.#newest = { system, timeline }
    this.#found = best.server
    return best.server
  }

  /** Asks all servers until one can be used, or all have answered that they cannot, or the time is over. */
  async #askAll(): Promise<Finding[]> {
    const { servers } = this.address
    const findings = new Map<ServerAddress, Finding>()
    const search = new AbortController()
    const { signal } = search
    const askOne = async (server: ServerAddress): Promise<void> => {
      while (!signal.aborted) {
        const finding = await this.#stateOf(server)
        if (signal.aborted) return
        findings.set(server, finding)
        const isUsable = finding.reason === undefined
        // While one does not answer at all, another one may be promoted: it is asked again.
        if (findings.size < servers.length) await pause(isUsable ? limits.graceMs : limits.againMs)
        if (isUsable || findings.size === servers.length) search.abort()
      }
    }
    const all = Promise.all(servers.map(askOne))
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    await Promise.race([all, aborted, pause(limits.answerMs + limits.graceMs, undefined, { signal }).catch(() => {})])
    search.abort()
    return servers.map(
      (server) => findings.get(server) ?? { server, reason: `${serverNameOf(server)} does not answer` },
    )
  }

  async #stateOf(server: ServerAddress): Promise<Finding> {
    try {
      const state = await this.#ask(this.address, server, limits.answerMs)
      const reason = refusal(state, this.address.target) ?? this.#isOutdated(state)
      return { server, state, ...(reason !== undefined && { reason: `${serverNameOf(server)} ${reason}` }) }
    } catch (error) {
      if (error instanceof DeadlinePassed) return { server, reason: `${serverNameOf(server)} does not answer` }
      const { cause, message } = translateDriverError(error)
      return { server, reason: `${serverNameOf(server)}: ${cause instanceof Error ? cause.message : message}` }
    }
  }

  #isOutdated({ system, timeline }: ServerState): string | undefined {
    if (timeline === undefined || system !== this.#newest?.system) return undefined
    const { timeline: newest = 0 } = this.#newest ?? {}
    if (timeline >= newest) return undefined
    return `was a primary before the promotion (timeline ${timeline}, now ${newest}): make it a standby`
  }

  #noServer(findings: readonly Finding[]): string {
    const reasons = findings.map(({ reason }) => reason).join('; ')
    return `no host of the URL is a primary that takes writes: ${reasons}. Promote one, or name the primary`
  }
}

function refusal({ isStandby, isReadOnly }: ServerState, target: TargetSession): string | undefined {
  if (target === 'any') return undefined
  if (isStandby) return 'is a standby'
  return target === 'read-write' && isReadOnly ? 'is read-only (default_transaction_read_only)' : undefined
}

const stateSql = `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
  case when not pg_is_in_recovery() then (select system_identifier::text from pg_control_system()) end as system,
  case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline`

type StateRow = { isStandby: boolean; isReadOnly: boolean; system: string | null; timeline: string | null }

/** Asks one server on a connection of its own. */
async function askServer(address: DatabaseAddress, server: ServerAddress, timeoutMs: number): Promise<ServerState> {
  let last: Socket | undefined
  let isOver = false
  const dial = () => {
    if (isOver || last !== undefined) throw unavailable('the connection was closed before the server was ready')
    return openSocket(server, (socket) => {
      last = socket
      if (isOver) socket.destroy()
    })
  }
  const client = createClient(address, {
    responseTimeoutMs: timeoutMs,
    openSocket: async () => dial(),
    onClose: () => {},
  })
  try {
    const rows = await withDeadline(Promise.resolve(client.unsafe<StateRow[]>(stateSql)), timeoutMs)
    const [row] = rows
    if (row === undefined) throw unavailable('no answer')
    const { isStandby, isReadOnly, system, timeline } = row
    if (system === null || timeline === null) return { isStandby, isReadOnly }
    return { isStandby, isReadOnly, system, timeline: Number.parseInt(timeline, 16) }
  } finally {
    isOver = true
    client.end({ timeout: 0 }).catch(() => {})
    last?.destroy()
  }
}
