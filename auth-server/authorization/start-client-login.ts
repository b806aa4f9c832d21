/**
 * Starts the login of a client by which a user has signed in, for a code and for a device. One statement makes it, if
 * the session that granted it, its user and its client are there: so it begins once, and never after a sign-out.
 */
import { type SQL, sql } from 'drizzle-orm'
import { unixSeconds } from '../../shared/platform/clock.ts'
import { gatherStatements } from '../../shared/platform/database/gather-statements.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import { issueRefreshToken, type TokenResponse, tokenResponse } from '../logins/issue-tokens.ts'
import { maxRevokedIds, refuseTooManyLogins, storedUserAgent } from '../logins/login.ts'
import { endedSql } from '../logins/refresh-token-families.ts'
import { tokenTimes } from '../logins/refresh-token-family.ts'
import { personSql } from '../logins/rotate-families.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { acceptedSqlOf } from '../principals/accepted-logins.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { f, l, p, s, u } from '../store/aliases.ts'
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

const given = parameters({ input: 'json' })

/**
 * `input`: an array of `NewClientLogin`. The locks make a sign-out and a change of the user wait, so that their records
 * have this login too. The login of a device has the id of its request, which it takes. A client of another party needs
 * the `consent`, so that nothing that was granted before a withdrawal begins a login after it.
 */
const startSqlWith = (consent: { readonly join: SQL; readonly lock: SQL }) =>
  given.statement(sql`with input as (
    select * from json_to_recordset(${given.input}) as i(id uuid, session_id uuid, own_session_id uuid,
      is_of_device boolean, user_id uuid, client_id uuid, issued_at timestamptz, expires_at timestamptz,
      refresh_expires_at timestamptz, remembered_until timestamptz, authenticated_at timestamptz, client_address text,
      user_agent text, factor text, audience text, rights text[], scopes text[], entries json)),
  taken as (update ${deviceRequests} set ${namesOf(deviceRequests, 'state')} = 'taken' from input i
    where i.is_of_device and ${deviceRequests.id} = i.id and ${deviceRequests.state} = 'approved'
      and ${deviceRequests.expiresAt} > i.issued_at returning ${deviceRequests.id}),
  started as (insert into ${loginFamilies}
    (${namesOf(loginFamilies, 'id', 'userId', 'usernameFolded', 'generation', 'createdAt', 'lastUsedAt', 'expiresAt')},
    ${namesOf(loginFamilies, 'refreshExpiresAt', 'tokensExpireAt', 'clientAddress', 'userAgent', 'secondFactor', 'audience')},
    ${namesOf(loginFamilies, 'clientId', 'sessionId', 'rights', 'scopes', 'authenticatedAt')})
  select i.id, ${u.id}, ${p.usernameFolded}, ${p.generation}, i.issued_at, i.issued_at, i.expires_at,
    i.refresh_expires_at, i.remembered_until, i.client_address, i.user_agent, i.factor, i.audience, i.client_id,
    i.own_session_id, i.rights, i.scopes, i.authenticated_at
  from input i join ${sessions} ${s} on ${s.id} = i.session_id join ${users} ${u} on ${u.id} = ${s.userId}
    join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} and ${p.userId} = ${u.id}
    left join ${clients} ${l} on ${l.id} = i.client_id ${consent.join}
  where ${u.id} = i.user_id and ${s.endedAt} is null and ${s.expiresAt} > i.issued_at and ${acceptedSqlOf(s)}
    and (${l.id} is not null or ${isBuiltInSql(sql`i.client_id`)})
    and (not i.is_of_device or i.id in (select id from taken)) and (i.factor is not null or not ${demandSql})
    and (select count(*) from (${endedSql(sql`i.issued_at`, sql`true`)}) e) < ${sql.raw(String(maxRevokedIds))}
  order by i.id for share of u, s${consent.lock}
  on conflict (${namesOf(loginFamilies, 'id')}) do nothing
  returning ${loginFamilies.id}, ${loginFamilies.userId}, ${loginFamilies.generation}),
  noted as (${insertEntriesSql(sql`i.entries`, sql`started n join input i on i.id = n.id`)})
  select n.id::text as id, n.generation, ${personSql} as person, (select count(*)::int from ${loginFamilies}
    where ${loginFamilies.sessionId} = i.own_session_id and ${loginFamilies.clientId} = i.client_id
      and ${loginFamilies.endedAt} is null) as others,
    (select count(*)::int from ${loginFamilies} ${f} where ${f.userId} = ${u.id} and ${f.endedAt} is null)
      + (select count(*)::int from ${sessions} ${s} where ${s.userId} = ${u.id} and ${s.endedAt} is null) as logins
  from started n join input i on i.id = n.id join ${users} ${u} on ${u.id} = n.user_id`)

const startSql = startSqlWith({ join: sql``, lock: sql`` })
const startWithConsentSql = startSqlWith({
  join: sql`join ${consents} on ${consents.userId} = ${u.id} and ${consents.clientId} = ${l.id}
      and ${consents.rights} @> i.rights and ${consents.scopes} @> i.scopes`,
  lock: sql`, consents`,
})

/** A row of `input`. */
interface NewClientLogin {
  readonly id: string
  readonly user_id: string
  readonly [column: string]: unknown
}

type Insert = (login: NewClientLogin) => Promise<StartedRow | undefined>

interface StartedRow {
  readonly id: string
  readonly generation: number
  readonly person: Person
  /** Live logins of the session and the client before this one. */
  readonly others: number
  /** Logins and sessions of the user that have not been ended: some may have expired. */
  readonly logins: number
}

/**
 * Starts it. Undefined when it was started before, when its session, user, client or consent is gone, and when the user
 * lacks the right that the client needs. @throws ProblemError `too-many-logins`; Unavailable
 */
export type StartClientLogin = (
  client: KnownClient,
  login: { readonly granted: GrantedLogin; readonly facts: ClientFacts },
) => Promise<TokenResponse | undefined>

/** Creates the function for one process. Concurrent callers share a statement, two of one user never. */
export function createStartClientLogin(systems: OAuthSystems): StartClientLogin {
  const gathered = (statement: typeof startSql): Insert =>
    gatherStatements({
      key: (login) => login.user_id,
      run: async (input) => {
        const rows = await systems.database.write<StartedRow>(...statement({ input }))
        const found = new Map(rows.map((row) => [row.id, row]))
        return input.map(({ id }) => found.get(id))
      },
    })
  const [start, startWithConsent] = [gathered(startSql), gathered(startWithConsentSql)]
  return (client, login) =>
    startClientLogin(systems, client, { ...login, insert: client.firstParty ? start : startWithConsent })
}

async function startClientLogin(
  systems: OAuthSystems,
  client: KnownClient,
  { granted, facts, insert }: Parameters<StartClientLogin>[1] & { readonly insert: Insert },
): ReturnType<StartClientLogin> {
  const { login: id, session, userId, username, scopes, audience, factor, nonce, sessionExpiresAt } = granted
  const entriesOf = entriesUnderWay()
  const refuseTooMany = () => refuseTooManyLogins(systems, { userId, ofClients: true })
  // The statement takes the request of a device even when it refuses the login.
  if (sessionExpiresAt === null) await refuseTooMany()
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
  const row = await insert({
    id,
    session_id: session,
    own_session_id: ownSessionId,
    is_of_device: sessionExpiresAt === null,
    user_id: userId,
    client_id: rowIdOf(client.id),
    issued_at: fromSeconds(issuedAt),
    expires_at: fromSeconds(expiresAt),
    refresh_expires_at: fromSeconds(times.refreshExpiresAt),
    // The row is there for as long as the code could come again.
    remembered_until: fromSeconds(Math.max(times.accessExpiresAt, issuedAt + 2 * codeTtlSeconds)),
    authenticated_at: new Date(granted.authenticatedAt).toISOString(),
    client_address: facts.clientAddress,
    user_agent: storedUserAgent(facts.userAgent) ?? null,
    factor,
    audience,
    rights,
    scopes,
    entries,
  })
  if (!row) {
    await refuseTooMany()
    return undefined
  }
  stored()
  const { generation, person } = row
  await systems.clients.noteUse(rowIdOf(client.id))
  if (row.others >= maxOfSession) await displace(systems, granted, client)
  await systems.makeRoom({ userId, username, login: { id, generation }, before: row.logins })
  const login = { id, username, generation, audience, clientId: client.id, endsAt: expiresAt }
  const proof = { at: unixSeconds(granted.authenticatedAt), factor }
  const ofClient = { clientId: client.id, name: client.name, rights, scopes, sessionId: ownSessionId, person }
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
