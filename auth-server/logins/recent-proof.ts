import { sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { type Proving, provenLogin, type RecentProof } from '../../shared/protocol/authentication/recent-proof.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { f, s, u } from '../store/aliases.ts'
import { loginFamilies, sessions, users } from '../store/schema.ts'
import type { LoginSystems } from './login-systems.ts'
import { verifyPassword } from './verify-password.ts'

/**
 * The age up to which a sign-in counts as recent proof, in milliseconds. Neither a refresh nor the exchange of a code
 * makes a sign-in younger.
 */
export const recentLoginMs = 300_000

/**
 * `RequireRecentProof` of the auth server. `withFactor`: the login, or the request, proved a second factor. So what the
 * request makes is confirmed from the beginning.
 */
export function createRecentProof(systems: LoginSystems) {
  return async function requireRecentProof(
    caller: Proving,
    { password, code, clientAddress }: RecentProof,
  ): Promise<{ readonly withFactor: boolean }> {
    const factors = factorsOfLoginSql({ loginId: loginIdOf(caller), userId: caller.userId })
    const [factor] = await systems.database.query<FactorRow>(...factors)
    const withFactor = factor?.isProved === true
    const isCodeNeeded = !withFactor && factor?.isDemanded !== false
    if (isCodeNeeded && (password === undefined || code === undefined)) throw factorRequired(logInWithFactor)
    if (password !== undefined) {
      const holder = await verifyPassword(systems, { username: caller.username, password, clientAddress })
      if (holder?.userId !== caller.userId) throw new ProblemError('wrong-password', 'The password is not right.')
      if (withFactor || code === undefined) return { withFactor }
      const origin = { actor: null, scheme: caller.scheme, address: clientAddress, requestId: null }
      const isRight = await systems.audit.during(origin, undefined, () =>
        systems.secondFactors.isRightFactor(holder.userId, { answer: { code }, clientAddress }),
      )
      if (!isRight) throw factorRequired(wrongCode)
      return { withFactor: true }
    }
    if (caller.scheme === 'basic' || caller.credential.carriesPassword === true) return { withFactor }
    if (await isRecent(systems, caller)) return { withFactor }
    throw new ProblemError(
      'recent-login-required',
      'Send your password in the member "password", or log in again and repeat this within five minutes.',
    )
  }
}

/** The refusal of a request that proves no second factor, where one is needed. */
export const factorRequired = (detail: string) => new ProblemError('second-factor-login-required', detail)

const logInWithFactor =
  'This user has a second factor, or needs one. Send the request with a login that has it, or with password and code.'
const wrongCode = 'The code is not right, was used before, or came too late.'

const recent = parameters({ loginId: 'uuid | null', userId: 'uuid', since: 'timestamptz' })
const recentSql = recent.statement(sql`select 1 as recent from ${loginFamilies} ${f}
    where ${f.id} = ${recent.loginId} and ${f.userId} = ${recent.userId} and coalesce(${f.authenticatedAt}, ${f.createdAt}) > ${recent.since}
  union all select 1 from ${sessions} ${s}
    where ${s.id} = ${recent.loginId} and ${s.userId} = ${recent.userId} and ${s.createdAt} > ${recent.since}`)

interface FactorRow {
  /** The user has a second factor, or needs one. */
  readonly isDemanded: boolean
  /** The login began with one. */
  readonly isProved: boolean
}

const proving = parameters({ loginId: 'uuid | null', userId: 'uuid' })
const factorsOfLoginSql = proving.statement(sql`select ${demandSql} as "isDemanded", exists (
    select 1 from ${loginFamilies} ${f}
      where ${f.id} = ${proving.loginId} and ${f.userId} = ${u.id} and ${f.secondFactor} is not null
    union all select 1 from ${sessions} ${s}
      where ${s.id} = ${proving.loginId} and ${s.userId} = ${u.id} and ${s.secondFactor} is not null) as "isProved"
  from ${users} ${u} where ${u.id} = ${proving.userId}`)

/** Null for a credential that proves no login. The token of an API key has the id of the key, which is no login. */
function loginIdOf(caller: Proving): string | null {
  const loginId = provenLogin(caller)
  return loginId !== undefined && isUuid(loginId) ? loginId : null
}

async function isRecent({ database, clock }: LoginSystems, caller: Proving): Promise<boolean> {
  const since = rfc3339(clock.now() - recentLoginMs)
  return (await database.query(...recentSql({ loginId: loginIdOf(caller), userId: caller.userId, since }))).length > 0
}
