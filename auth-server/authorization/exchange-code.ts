/**
 * Exchanges an authorization code for the tokens of a login (RFC 6749 §4.1.3). One statement makes the login that the
 * code names, if its session, its user and its client are there: so a code works once, and never after a sign-out.
 */
import { timingSafeEqual } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { unixSeconds } from '../../shared/platform/clock.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import type { KnownClient } from '../clients/client-secrets.ts'
import { issueRefreshToken, type TokenResponse, tokenResponse } from '../logins/issue-tokens.ts'
import { storedUserAgent } from '../logins/login.ts'
import { tokenTimes } from '../logins/refresh-token-family.ts'
import { personSql } from '../logins/rotate-families.ts'
import { OAuthError } from '../oauth/oauth-error.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { acceptedSqlOf } from '../principals/accepted-logins.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { l, p, s, u } from '../store/aliases.ts'
import { clients } from '../store/client-tables.ts'
import { loginFamilies, principals, sessions, users } from '../store/schema.ts'
import type { Person } from '../tokens/id-tokens.ts'
import { type CodeContent, codeTtlSeconds, digestOf, openCode } from './authorization-code.ts'

/** A request for the tokens of a code. */
export interface CodeExchange {
  readonly code: string
  readonly redirectUri: string
  readonly verifier: string | undefined
  /** The audience that `resource` chooses again; undefined when it is left out. */
  readonly audience: string | null | undefined
  readonly clientAddress: string
  readonly userAgent: string | undefined
}

/** Exchanges. @throws OAuthError `invalid_grant`, `invalid_target`; Unavailable */
export type ExchangeCode = (client: KnownClient, exchange: CodeExchange) => Promise<TokenResponse>

/** How many logins of one session and client can live: silent renewals end their own. */
const maxOfSession = 10

const started = parameters({
  id: 'uuid',
  sessionId: 'uuid',
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
 * The locks make a sign-out and a change of the user wait, so that their records have this login too. `rights` is
 * `[null]` for all rights.
 */
const startSql = started.statement(sql`with started as (insert into ${loginFamilies}
    (${namesOf(loginFamilies, 'id', 'userId', 'usernameFolded', 'generation', 'createdAt', 'lastUsedAt', 'expiresAt')},
    ${namesOf(loginFamilies, 'refreshExpiresAt', 'tokensExpireAt', 'clientAddress', 'userAgent', 'secondFactor', 'audience')},
    ${namesOf(loginFamilies, 'clientId', 'sessionId', 'rights', 'scopes', 'authenticatedAt')})
  select ${started.id}, ${u.id}, ${p.usernameFolded}, ${p.generation}, ${started.issuedAt}, ${started.issuedAt},
    ${started.expiresAt}, ${started.refreshExpiresAt}, ${started.rememberedUntil}, ${started.clientAddress},
    ${started.userAgent}, ${started.factor}, ${started.audience}, ${l.id}, ${s.id},
    case when ${started.rights}->>0 is null and json_array_length(${started.rights}) = 1 then null
      else ${namesIn(started.rights)} end, ${namesIn(started.scopes)}, ${started.authenticatedAt}
  from ${sessions} ${s} join ${users} ${u} on ${u.id} = ${s.userId}
    join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} and ${p.userId} = ${u.id}
    join ${clients} ${l} on ${l.id} = ${started.clientId}
  where ${s.id} = ${started.sessionId} and ${u.id} = ${started.userId} and ${s.endedAt} is null
    and ${s.expiresAt} > ${started.issuedAt} and ${acceptedSqlOf(s)}
    and (${started.factor} is not null or not ${demandSql})
  for share of u, s
  on conflict (${namesOf(loginFamilies, 'id')}) do nothing
  returning ${loginFamilies.userId}, ${loginFamilies.generation}),
  noted as (${insertEntriesSql(started.entries, sql`started`)})
  select started.generation, ${personSql} as person, (select count(*)::int from ${loginFamilies}
    where ${loginFamilies.sessionId} = ${started.sessionId} and ${loginFamilies.clientId} = ${started.clientId}
      and ${loginFamilies.endedAt} is null) as others
  from started join ${users} ${u} on ${u.id} = started.user_id`)

interface StartedRow {
  readonly generation: number
  readonly person: Person
  /** Live logins of the session and the client before this one. */
  readonly others: number
}

/** Creates the exchange. */
export const createCodeExchange =
  (systems: OAuthSystems): ExchangeCode =>
  async (client, exchange) => {
    const content = openCode(systems.sealing, client.id, exchange.code)
    if (!content || content.expiresAt <= systems.clock.now()) throw invalidCode()
    if (digestOf(exchange.redirectUri) !== content.redirect)
      throw invalidCode('The redirect_uri is another one than that of the authorization request.')
    if (!isVerified(content.challenge, exchange.verifier))
      throw invalidCode('The code_verifier does not fit the code_challenge (RFC 7636).')
    if (exchange.audience !== undefined && exchange.audience !== content.audience)
      throw new OAuthError('invalid_target', 'resource: The code is for another audience.')
    return start(systems, client, { content, exchange })
  }

const invalidCode = (detail = 'The code is not valid, was used before, or its session has ended.') =>
  new OAuthError('invalid_grant', detail)

/** A verifier without a challenge is refused too: somebody may have taken the challenge away (RFC 9700 §2.1.1). */
function isVerified(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  return timingSafeEqual(Buffer.from(digestOf(verifier)), Buffer.from(challenge))
}

interface Start {
  readonly content: CodeContent
  readonly exchange: CodeExchange
}

async function start(systems: OAuthSystems, client: KnownClient, { content, exchange }: Start): Promise<TokenResponse> {
  const { login: id, session, userId, username, scopes, rights, audience, factor, nonce } = content
  const { clock, settings, refreshTokens } = systems
  const issuedAt = unixSeconds(clock.now())
  const longest = issuedAt + settings.loginMaxTtlSeconds
  const expiresAt = scopes.includes('offline_access')
    ? longest
    : Math.min(longest, unixSeconds(content.sessionExpiresAt))
  const times = tokenTimes(settings, issuedAt, expiresAt)
  const { entries, stored } = entriesUnderWay()([
    { action: 'client.login-started', actor: username, target: client.id },
  ])
  const rows = await systems.database.write<StartedRow>(
    ...startSql({
      id,
      sessionId: session,
      userId,
      clientId: client.id,
      issuedAt: fromSeconds(issuedAt),
      expiresAt: fromSeconds(expiresAt),
      refreshExpiresAt: fromSeconds(times.refreshExpiresAt),
      // The row is there for as long as the code could come again.
      rememberedUntil: fromSeconds(Math.max(times.accessExpiresAt, issuedAt + 2 * codeTtlSeconds)),
      authenticatedAt: new Date(content.authenticatedAt).toISOString(),
      clientAddress: exchange.clientAddress,
      userAgent: storedUserAgent(exchange.userAgent) ?? null,
      factor,
      audience,
      rights: rights ?? [null],
      scopes,
      entries,
    }),
  )
  const [row] = rows
  if (!row) return refuseUsed(systems, content)
  stored()
  const { generation, person } = row
  await systems.clients.noteUse(client.id)
  if (row.others >= maxOfSession) await displace(systems, content, client)
  await systems.makeRoom({ userId, username, login: { id, generation } })
  const login = { id, username, generation, audience, clientId: client.id }
  const proof = { at: unixSeconds(content.authenticatedAt), factor }
  const ofClient = { clientId: client.id, rights, scopes, sessionId: session, person }
  const refreshToken = issueRefreshToken(refreshTokens, login, { counter: 0, times })
  return tokenResponse(systems, login, { refreshToken, times, proof, client: ofClient, nonce: nonce ?? undefined })
}

const fromSeconds = (seconds: number) => new Date(seconds * 1000).toISOString()

/** A code that comes again ends what came of it (RFC 6749 §4.1.2). @throws OAuthError `invalid_grant` */
async function refuseUsed(systems: OAuthSystems, { login, username }: CodeContent): Promise<never> {
  if (await systems.refreshTokenFamilies.find(login))
    await systems.revokeLogin({ id: login, username, reason: 'code-reuse' })
  throw invalidCode()
}

const displaced = parameters({ sessionId: 'uuid', clientId: 'uuid' })
const displacedSql = displaced.statement(sql`select ${loginFamilies.id}::text as id from ${loginFamilies}
  where ${loginFamilies.sessionId} = ${displaced.sessionId} and ${loginFamilies.clientId} = ${displaced.clientId}
    and ${loginFamilies.endedAt} is null order by ${loginFamilies.id} desc offset ${sql.raw(String(maxOfSession))}`)

/** Ends the oldest logins of a session and client. */
async function displace(systems: OAuthSystems, { session, username }: CodeContent, client: KnownClient): Promise<void> {
  const ids = displacedSql({ sessionId: session, clientId: client.id })
  for (const { id } of await systems.database.query<{ id: string }>(...ids))
    await systems.revokeLogin({ id, username, reason: 'displaced' })
}
