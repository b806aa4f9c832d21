/** Requests of devices (RFC 8628) in the database. One conditional statement decides between concurrent callers. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { clientPrefix, sitePrefix } from '../../shared/platform/http/client-prefix.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import { milliseconds } from '../logins/refresh-token-families.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { s, u } from '../store/aliases.ts'
import { deviceRequests } from '../store/client-tables.ts'
import { sessions, users } from '../store/schema.ts'

/** What a device asks for. */
export interface DeviceRequest {
  readonly clientId: string
  /** Null: all rights of the user, of a first-party client. */
  readonly rights: string[] | null
  readonly scopes: string[]
  /** Null: that of the pair. */
  readonly audience: string | null
  readonly clientAddress: string
}

/** A new request. Durations in seconds. */
export interface NewDeviceRequest extends DeviceRequest {
  readonly id: string
  readonly userCodeHash: string
  readonly ttl: number
  readonly interval: number
}

/** A request that waits for its user. Times in milliseconds. */
export interface WaitingRequest extends DeviceRequest {
  readonly id: string
  readonly createdAt: number
}

/** What a poll has found. */
export interface PolledRequest extends Omit<DeviceRequest, 'clientId' | 'clientAddress'> {
  readonly state: 'pending' | 'approved' | 'denied' | 'taken'
  readonly isExpired: boolean
  readonly isTooFast: boolean
  /** Who approved it, and how that user had signed in; null: nobody, or the session is gone. */
  readonly approver: {
    readonly session: string
    readonly userId: string
    readonly username: string
    /** In milliseconds. */
    readonly authenticatedAt: number
    readonly factor: string | null
  } | null
}

/** How many requests younger than their time there can be: what nobody finishes fills no disk. */
const [boundOfAll, boundOfPrefix, boundOfSite] = [sql.raw('10000'), sql.raw('100'), sql.raw('800')]

/** How many seconds an honest poll may be early, since networks are uneven. */
const toleranceSeconds = sql.raw('1')
/** By how many seconds the interval grows (RFC 8628 §3.5), and how far. */
const [slowDownSeconds, longestSeconds] = [sql.raw('5'), sql.raw('60')]

const d = alias(deviceRequests, 'd')
const list = (names: SQLWrapper) => sql`array(select json_array_elements_text(${names}))`
const seconds = (count: SQLWrapper) => sql`make_interval(secs => ${count})`

const begun = parameters({
  id: 'uuid',
  userCodeHash: 'text',
  clientId: 'text',
  rights: 'json | null',
  scopes: 'json',
  audience: 'text | null',
  now: 'timestamptz',
  ttl: 'int',
  interval: 'int',
  clientAddress: 'text',
  prefix: 'text | null',
  site: 'text | null',
})
/** Of the same address, or of the same IPv6 network; null: the address is of none. */
const isWithinSql = (network: SQLWrapper) => sql`(${d.clientAddress} = ${begun.clientAddress}
  or case when ${network} is not null and ${d.clientAddress} ~ '^[0-9a-f]*:[0-9a-f:]+$'
    then ${d.clientAddress}::inet <<= ${network}::inet else false end)`
const beginSql = begun.statement(sql`insert into ${deviceRequests}
    (${namesOf(deviceRequests, 'id', 'userCodeHash', 'clientId', 'rights', 'scopes', 'audience', 'createdAt')},
    ${namesOf(deviceRequests, 'expiresAt', 'interval', 'state', 'clientAddress')})
  select ${begun.id}, ${begun.userCodeHash}, ${begun.clientId},
    case when ${begun.rights} is not null then ${list(begun.rights)} end, ${list(begun.scopes)}, ${begun.audience},
    ${begun.now}, ${begun.now} + ${seconds(begun.ttl)}, ${begun.interval}, 'pending', ${begun.clientAddress}
  from (select count(*) as total, count(*) filter (where ${isWithinSql(begun.prefix)}) as of_prefix,
      count(*) filter (where ${isWithinSql(begun.site)}) as of_site
    from ${deviceRequests} ${d} where ${d.expiresAt} > ${begun.now}) n
  where n.total < ${boundOfAll} and n.of_prefix < ${boundOfPrefix} and n.of_site < ${boundOfSite}
  on conflict (${namesOf(deviceRequests, 'userCodeHash')}) do nothing
  returning 1 as begun`)

const asked = parameters({ userCodeHash: 'text', now: 'timestamptz' })
const findSql = asked.statement(sql`select json_build_object('id', ${d.id}, 'clientId', ${d.clientId},
    'rights', to_json(${d.rights}), 'scopes', to_json(${d.scopes}), 'audience', ${d.audience},
    'clientAddress', ${d.clientAddress}, 'createdAt', ${milliseconds(d.createdAt)}) as found
  from ${deviceRequests} ${d}
  where ${d.userCodeHash} = ${asked.userCodeHash} and ${d.state} = 'pending' and ${d.expiresAt} > ${asked.now}`)

const decided = parameters({ id: 'uuid', state: 'text', sessionId: 'uuid', now: 'timestamptz', entries: 'json' })
const decideSql = decided.statement(sql`with decided as (update ${deviceRequests} ${d}
    set (${namesOf(deviceRequests, 'state', 'sessionId')}) = row(${decided.state}, ${decided.sessionId})
    where ${d.id} = ${decided.id} and ${d.state} = 'pending' and ${d.expiresAt} > ${decided.now} returning ${d.id}),
  noted as (${insertEntriesSql(decided.entries, sql`decided`)})
  select id from decided`)

const polled = parameters({ id: 'uuid', clientId: 'text', now: 'timestamptz' })
/** Whoever polls too fast, time and again, makes no more writes than the interval can grow. */
const pollSql =
  polled.statement(sql`with found as materialized (select *, ${d.expiresAt} <= ${polled.now} as is_expired,
      coalesce(${polled.now} < ${d.polledAt} + ${seconds(sql`${d.interval} - ${toleranceSeconds}`)}, false) as is_too_fast
    from ${deviceRequests} ${d} where ${d.id} = ${polled.id} and ${d.clientId} = ${polled.clientId}),
  polled as (update ${deviceRequests} ${d}
    set (${namesOf(deviceRequests, 'polledAt', 'interval')}) = row(${polled.now},
      ${d.interval} + case when f.is_too_fast then ${slowDownSeconds} else 0 end)
    from found f where ${d.id} = f.id and f.state = 'pending' and not f.is_expired
      and not (f.is_too_fast and f.interval >= ${longestSeconds}))
  select json_build_object('state', f.state, 'isExpired', f.is_expired, 'isTooFast', f.is_too_fast,
    'rights', to_json(f.rights), 'scopes', to_json(f.scopes), 'audience', f.audience,
    'approver', case when ${s.id} is not null then json_build_object('session', ${s.id}, 'userId', ${u.id},
      'username', ${u.username}, 'authenticatedAt', ${milliseconds(s.createdAt)}, 'factor', ${s.secondFactor}) end) as found
  from found f left join ${sessions} ${s} on ${s.id} = f.session_id left join ${users} ${u} on ${u.id} = ${s.userId}`)

/** Stores a new request. False when there are too many. @throws Unavailable */
export async function insertDeviceRequest(
  { database, clock }: OAuthSystems,
  { clientAddress, ...request }: NewDeviceRequest,
): Promise<boolean> {
  const hasNetwork = /^[0-9a-f]*:[0-9a-f:]+$/.test(clientAddress) && clientPrefix(clientAddress) !== 'unknown'
  const network = (of: (address: string) => string) => (hasNetwork ? of(clientAddress) : null)
  const address = { clientAddress, prefix: network(clientPrefix), site: network(sitePrefix) }
  return (await database.write(...beginSql({ ...request, ...address, now: rfc3339(clock.now()) }))).length > 0
}

/** The request with this code that waits for its user. @throws Unavailable */
export async function findDeviceRequest(
  { database, clock }: OAuthSystems,
  userCodeHash: string,
): Promise<WaitingRequest | undefined> {
  const find = findSql({ userCodeHash, now: rfc3339(clock.now()) })
  return (await database.query<{ found: WaitingRequest }>(...find))[0]?.found
}

/** The decision of a user about a request. */
export interface DeviceDecision {
  readonly isAllowed: boolean
  readonly sessionId: string
  readonly username: string
}

/** Stores the decision. False when the request waits no longer. @throws Unavailable */
export async function decideDeviceRequest(
  { database, clock }: OAuthSystems,
  { id, clientId }: WaitingRequest,
  { isAllowed, sessionId, username }: DeviceDecision,
): Promise<boolean> {
  const state = isAllowed ? 'approved' : 'denied'
  const { entries, stored } = entriesUnderWay()([{ action: `device.${state}`, actor: username, target: clientId }])
  const decide = decideSql({ id, state, sessionId, now: rfc3339(clock.now()), entries })
  const rows = await database.write(...decide)
  if (rows.length > 0) stored()
  return rows.length > 0
}

/** A poll by this client. Undefined: the request has been removed. @throws Unavailable */
export async function pollDeviceRequest(
  { database, clock }: OAuthSystems,
  request: { readonly id: string; readonly clientId: string },
): Promise<PolledRequest | undefined> {
  const poll = pollSql({ ...request, now: rfc3339(clock.now()) })
  return (await database.write<{ found: PolledRequest }>(...poll))[0]?.found
}
