/** What the holder of an access token learns of its user (OpenID Connect Core §5.3). */
import { sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import { parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { refusalOf } from '../../shared/protocol/authentication/authenticate.ts'
import { personSql } from '../logins/rotate-families.ts'
import { hasClientSql } from '../principals/accepted-logins.ts'
import { f, u } from '../store/aliases.ts'
import { loginFamilies, users } from '../store/schema.ts'
import { claimsOf, type Person } from '../tokens/id-tokens.ts'
import type { OAuthSystems } from './oauth-systems.ts'

const found = parameters({ loginId: 'uuid' })
const findSql = found.statement(sql`select to_json(${f.scopes}) as scopes, ${personSql} as person
  from ${loginFamilies} ${f} join ${users} ${u} on ${u.id} = ${f.userId}
  where ${f.id} = ${found.loginId} and ${f.endedAt} is null and ${hasClientSql}`)

/**
 * The claims by the scopes of the login, whatever audience the token is for.
 * @throws ProblemError `invalid-token`, `token-expired`, `login-ended`, `principal-disabled`; `missing-right` for a
 *   login without the scope `openid`; Unavailable
 */
export async function readUserInfo(systems: OAuthSystems, token: string): Promise<Record<string, unknown>> {
  const verdict = await systems.verifyAccessToken(token)
  if (!verdict.ok) throw new ProblemError(verdict.problem, 'The access token is not accepted, or has expired.')
  const { sub, gen: generation, sid: loginId, jti: tokenId, client_id: clientId } = verdict.claims
  const owner = await systems.principal(sub)
  const refusal = owner && refusalOf(owner, { generation, loginId, tokenId, clientId })
  if (!owner || refusal)
    throw new ProblemError(refusal?.code ?? 'principal-disabled', 'The login of this token has ended.')
  type Row = { scopes: string[] | null; person: Person }
  const [row] = isUuid(loginId) ? await systems.database.query<Row>(...findSql({ loginId })) : []
  if (!row?.scopes?.includes('openid'))
    throw new ProblemError('missing-right', 'The login of this token has not the scope openid.')
  return claimsOf(row.person, row.scopes)
}
