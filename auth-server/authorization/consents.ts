/** What users have let clients of other parties do (docs/contract/sign-in.md#consent). */
import { and, asc, eq, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import type { OAuthSystems } from '../oauth/oauth-systems.ts'
import { changePrincipal } from '../principals/principal-change.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { clients, consents } from '../store/client-tables.ts'
import { loginFamilies, users } from '../store/schema.ts'
import type { SignedIn } from './decide.ts'

const given = parameters({
  userId: 'uuid',
  clientId: 'uuid',
  rights: 'json',
  scopes: 'json',
  now: 'timestamptz',
  entries: 'json',
})
const names = (list: typeof given.rights) => sql`array(select json_array_elements_text(${list}))`
const both = (one: SQLWrapper, other: SQL) => sql`array(select distinct unnest(${one} || ${other}))`
const storeSql = given.statement(sql`with granted as (
    insert into ${consents} (${namesOf(consents, 'userId', 'clientId', 'rights', 'scopes', 'grantedAt')})
    select ${given.userId}, ${clients.id}, ${names(given.rights)}, ${names(given.scopes)}, ${given.now}
    from ${clients} where ${clients.id} = ${given.clientId}
    on conflict (${namesOf(consents, 'userId', 'clientId')}) do update set
      ${namesOf(consents, 'rights')} = ${both(consents.rights, sql`excluded.rights`)},
      ${namesOf(consents, 'scopes')} = ${both(consents.scopes, sql`excluded.scopes`)},
      ${namesOf(consents, 'grantedAt')} = excluded.granted_at
    returning ${consents.clientId}),
  noted as (${insertEntriesSql(given.entries, sql`granted`)})
  select from granted`)

/** Stores the consent of this user, beside a former one. @throws Unavailable */
export async function storeConsent(
  { database, clock }: OAuthSystems,
  { userId, username, consent }: SignedIn,
  clientId: string,
): Promise<void> {
  const { rights = [], scopes = [] } = consent ?? {}
  const { entries, stored } = entriesUnderWay()([{ action: 'consent.granted', actor: username, target: clientId }])
  await database.write(...storeSql({ userId, clientId, rights, scopes, now: rfc3339(clock.now()), entries }))
  stored()
}

/** A client that a user has let do something, or that has a live login of the user. Times in milliseconds. */
export interface GivenConsent {
  readonly clientId: string
  readonly name: string
  readonly rights: readonly string[]
  readonly scopes: readonly string[]
  readonly grantedAt: number
}

/** Lists the consents of a user, by the names of clients. There are no more than clients. @throws Unavailable */
export async function listConsents({ database }: OAuthSystems, userId: string): Promise<GivenConsent[]> {
  const rows = await database.drizzle
    .select({ consent: consents, name: clients.name })
    .from(consents)
    .innerJoin(clients, eq(clients.id, consents.clientId))
    .where(eq(consents.userId, userId))
    .orderBy(asc(clients.name))
  return rows.map(({ name, consent: { clientId, rights, scopes, grantedAt } }) => ({
    clientId,
    name,
    rights,
    scopes,
    grantedAt: grantedAt.getTime(),
  }))
}

/**
 * Takes back what a user has let a client do. All logins of the user and the client end; the change is published when
 * this resolves. @throws ProblemError `not-found`; Unavailable
 */
export async function withdrawConsent(
  { database, publisher, clock }: OAuthSystems,
  { userId, username }: { readonly userId: string; readonly username: string },
  clientId: string,
): Promise<void> {
  if (!isUuid(clientId)) throw noSuchConsent()
  const change = changePrincipal(database, username, async (transaction) => {
    // An exchange that has begun ends first, and its login with the others; a later one finds no consent.
    await transaction.select({ id: users.id }).from(users).where(eq(users.id, userId)).for('no key update')
    const ofUser = and(eq(consents.userId, userId), eq(consents.clientId, clientId))
    const withdrawn = await transaction.delete(consents).where(ofUser).returning()
    const endedAt = new Date(clock.now())
    const ended = await transaction
      .update(loginFamilies)
      .set({ endedAt, endedReason: 'consent-withdrawn', rotatedAt: null, successorSealed: null })
      .where(and(eq(loginFamilies.userId, userId), eq(loginFamilies.clientId, clientId), isNull(loginFamilies.endedAt)))
      .returning({ id: loginFamilies.id })
    if (withdrawn.length + ended.length === 0) throw noSuchConsent()
    return { result: undefined, change: {} }
  })
  await whenPublished(publisher, change)
}

const noSuchConsent = () => new ProblemError('not-found', 'You have not let such a client do anything.')
