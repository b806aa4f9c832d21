/**
 * Starts the login of a client by which a user has signed in, for a code and for a device. One statement makes it, if
 * the session that granted it, its user and its client are there: so it begins once, and never after a sign-out.
 */
import { type SQL, sql } from 'drizzle-orm'
import { unixSeconds } from '../../shared/platform/clock.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import { issueRefreshToken, type TokenResponse, tokenResponse } from '../logins/issue-tokens.ts'
import { refuseTooManyLogins, storedUserAgent } from '../logins/login.ts'
import { tokenTimes } from '../logins/refresh-token-family.ts'
import { personSql } from '../logins/rotate-families.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { acceptedSqlOf } from '../principals/accepted-logins.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { l, p, s, u } from '../store/aliases.ts'
import { isBuiltInSql, rowIdOf } from '../store/built-in-clients.ts'
import { clients, consents, deviceRequests } from '../store/client-tables.ts'
import { loginFamilies, principals, sessions, users } from '../store/schema.ts'
import type { Person } from '../tokens/id-tokens.ts'
import { type CodeContent, codeTtlSeconds } from './authorization-code.ts'
import { rightsWithin } from './authorization-request.ts'

/** What a user has granted. Times in milliseconds. */
export interface GrantedLogin extends Omit<CodeContent, 'redirect' | 'challenge' | 'sessionExpiresAt' | 'expiresAt'> {
  /** The end of the session that it ends with; null: it is of a device, and outlives the session that granted it. */
  readonly sessionExpiresAt: number | null
}

/** Who asks for the tokens. */
export interface ClientFacts {
  readonly clientAddress: string
  readonly userAgent: string | undefined
}

/** How many logins of one session and client can live: silent renewals end their own. */
const maxOfSession = 10

const started = parameters({
  id: 'uuid',
  sessionId: 'uuid',
  ownSessionId: 'uuid | null',
  isOfDevice: 'boolean',
  userId: 'uuid',
  clientId: 'uuid',
  issuedAt: 'timestamptz',
  expiresAt: 'timestamptz',
  refreshExpiresAt: 'timestamptz',
  rememberedUntil: 'timestamptz',
  authenticatedAt: 'timestamptz',
  clientAddress: 'text',
  userAgent: 'text | null',
  factor: 'text | null',
  audience: 'text | null',
  rights: 'json',
  scopes: 'json',
  entries: 'json',
})
const namesIn = (list: ReturnType<typeof sql>) => sql`array(select json_array_elements_text(${list}))`

/**
 * The locks make a sign-out and a change of the user wait, so that their records have this login too. The login of a
 * device has the id of its request, which it takes. `rights` is `[null]` for all rights. A client of another party
 * needs the `consent`, so that nothing that was granted before a withdrawal begins a login after it.
 */
const startSqlWith = (consent: { readonly join: SQL; readonly lock: SQL }) =>
  started.statement(sql`with taken as (update ${deviceRequests}
    set ${namesOf(deviceRequests, 'state')} = 'taken' where ${started.isOfDevice} and ${deviceRequests.id} = ${started.id}
      and ${deviceRequests.state} = 'approved' and ${deviceRequests.expiresAt} > ${started.issuedAt} returning 1),
  started as (insert into ${loginFamilies}
    (${namesOf(loginFamilies, 'id', 'userId', 'usernameFolded', 'generation', 'createdAt', 'lastUsedAt', 'expiresAt')},
    ${namesOf(loginFamilies, 'refreshExpiresAt', 'tokensExpireAt', 'clientAddress', 'userAgent', 'secondFactor', 'audience')},
    ${namesOf(loginFamilies, 'clientId', 'sessionId', 'rights', 'scopes', 'authenticatedAt')})
  select ${started.id}, ${u.id}, ${p.usernameFolded}, ${p.generation}, ${started.issuedAt}, ${started.issuedAt},
    ${started.expiresAt}, ${started.refreshExpiresAt}, ${started.rememberedUntil}, ${started.clientAddress},
    ${started.userAgent}, ${started.factor}, ${started.audience}, ${started.clientId}, ${started.ownSessionId},
    case when ${started.rights}->>0 is null and json_array_length(${started.rights}) = 1 then null
      else ${namesIn(started.rights)} end, ${namesIn(started.scopes)}, ${started.authenticatedAt}
  from ${sessions} ${s} join ${users} ${u} on ${u.id} = ${s.userId}
    join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} and ${p.userId} = ${u.id}
    left join ${clients} ${l} on ${l.id} = ${started.clientId} ${consent.join}
  where ${s.id} = ${started.sessionId} and ${u.id} = ${started.userId} and ${s.endedAt} is null
    and (${l.id} is not null or ${isBuiltInSql(started.clientId)}) and ${s.expiresAt} > ${started.issuedAt} and ${acceptedSqlOf(s)}
    and (not ${started.isOfDevice} or exists (select from taken)) and (${started.factor} is not null or not ${demandSql})
  for share of u, s${consent.lock}
  on conflict (${namesOf(loginFamilies, 'id')}) do nothing
  returning ${loginFamilies.userId}, ${loginFamilies.generation}),
  noted as (${insertEntriesSql(started.entries, sql`started`)})
  select started.generation, ${personSql} as person, (select count(*)::int from ${loginFamilies}
    where ${loginFamilies.sessionId} = ${started.ownSessionId} and ${loginFamilies.clientId} = ${started.clientId}
      and ${loginFamilies.endedAt} is null) as others
  from started join ${users} ${u} on ${u.id} = started.user_id`)

const startSql = startSqlWith({ join: sql``, lock: sql`` })
const startWithConsentSql = startSqlWith({
  join: sql`join ${consents} on ${consents.userId} = ${u.id} and ${consents.clientId} = ${l.id}
      and ${consents.rights} @> ${namesIn(started.rights)} and ${consents.scopes} @> ${namesIn(started.scopes)}`,
  lock: sql`, consents`,
})

interface StartedRow {
  readonly generation: number
  readonly person: Person
  /** Live logins of the session and the client before this one. */
  readonly others: number
}

/**
 * Starts it. Undefined when it was started before, when its session, user, client or consent is gone, and when the user
 * lacks the right that the client needs. @throws ProblemError `too-many-logins`; Unavailable
 */
export async function startClientLogin(
  systems: OAuthSystems,
  client: KnownClient,
  { granted, facts }: { readonly granted: GrantedLogin; readonly facts: ClientFacts },
): Promise<TokenResponse | undefined> {
  const { login: id, session, userId, username, scopes, audience, factor, nonce, sessionExpiresAt } = granted
  const entriesOf = entriesUnderWay()
  await refuseTooManyLogins(systems, { userId, ofClients: true })
  if (client.needsRight !== null && !(await systems.principal(username))?.rights.includes(client.needsRight))
    return undefined
  // The client may have been changed since the user was asked.
  const rights = rightsWithin(granted.rights, client)
  const { clock, settings, refreshTokens } = systems
  const issuedAt = unixSeconds(clock.now())
  const longest = issuedAt + settings.loginMaxTtlSeconds
  const isBound = sessionExpiresAt !== null && !scopes.includes('offline_access')
  const expiresAt = isBound ? Math.min(longest, unixSeconds(sessionExpiresAt)) : longest
  const ownSessionId = sessionExpiresAt === null ? null : session
  const times = tokenTimes(settings, issuedAt, expiresAt)
  const { entries, stored } = entriesOf([{ action: 'client.login-started', actor: username, target: client.id }])
  const rows = await systems.database.write<StartedRow>(
    ...(client.firstParty ? startSql : startWithConsentSql)({
      id,
      sessionId: session,
      ownSessionId,
      isOfDevice: sessionExpiresAt === null,
      userId,
      clientId: rowIdOf(client.id),
      issuedAt: fromSeconds(issuedAt),
      expiresAt: fromSeconds(expiresAt),
      refreshExpiresAt: fromSeconds(times.refreshExpiresAt),
      // The row is there for as long as the code could come again.
      rememberedUntil: fromSeconds(Math.max(times.accessExpiresAt, issuedAt + 2 * codeTtlSeconds)),
      authenticatedAt: new Date(granted.authenticatedAt).toISOString(),
      clientAddress: facts.clientAddress,
      userAgent: storedUserAgent(facts.userAgent) ?? null,
      factor,
      audience,
      rights: rights ?? [null],
      scopes,
      entries,
    }),
  )
  const [row] = rows
  if (!row) return undefined
  stored()
  const { generation, person } = row
  await systems.clients.noteUse(rowIdOf(client.id))
  if (row.others >= maxOfSession) await displace(systems, granted, client)
  await systems.makeRoom({ userId, username, login: { id, generation } })
  const login = { id, username, generation, audience, clientId: client.id, endsAt: expiresAt }
  const proof = { at: unixSeconds(granted.authenticatedAt), factor }
  const ofClient = { clientId: client.id, rights, scopes, sessionId: ownSessionId, person }
  const refreshToken = issueRefreshToken(refreshTokens, login, { counter: 0, times })
  return tokenResponse(systems, login, { refreshToken, times, proof, client: ofClient, nonce: nonce ?? undefined })
}

const fromSeconds = (seconds: number) => new Date(seconds * 1000).toISOString()

const displaced = parameters({ sessionId: 'uuid', clientId: 'uuid' })
const displacedSql = displaced.statement(sql`select ${loginFamilies.id}::text as id from ${loginFamilies}
  where ${loginFamilies.sessionId} = ${displaced.sessionId} and ${loginFamilies.clientId} = ${displaced.clientId}
    and ${loginFamilies.endedAt} is null order by ${loginFamilies.id} desc offset ${sql.raw(String(maxOfSession))}`)

/** Ends the oldest logins of a session and client. */
async function displace(
  systems: OAuthSystems,
  { session, username }: GrantedLogin,
  client: KnownClient,
): Promise<void> {
  const ids = displacedSql({ sessionId: session, clientId: rowIdOf(client.id) })
  for (const { id } of await systems.database.query<{ id: string }>(...ids))
    await systems.revokeLogin({ id, username, reason: 'displaced' })
}
