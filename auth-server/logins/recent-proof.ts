import { validate as isUuid } from 'uuid'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Proving, RequireRecentProof } from '../../shared/protocol/authentication/recent-proof.ts'
import type { Role } from '../users/rights.ts'
import { secondFactorDemandSql } from '../users/second-factor-demand.ts'
import { type VerifyPasswordPorts, verifyPassword } from './verify-password.ts'

/** The age up to which a login counts as recent proof, in milliseconds. A refresh does not make a login younger. */
export const recentLoginMs = 300_000

/** The systems that the check uses. */
export interface RecentProofPorts extends VerifyPasswordPorts {
  readonly clock: Clock
  /** SECOND_FACTOR_ROLES. */
  readonly secondFactorRoles: readonly Role[]
}

/** Creates the check over these ports. */
export function createRecentProof(ports: RecentProofPorts): RequireRecentProof {
  const lackingSql = lackingFactorSql(secondFactorDemandSql(ports.secondFactorRoles))
  return async (caller, { password, clientAddress }) => {
    const lacking = await ports.database.query(lackingSql, [loginIdOf(caller), caller.userId])
    if (lacking.length > 0) {
      throw new ProblemError(
        'second-factor-login-required',
        'This user has a second factor, or needs one. Log in with it, and send the request with that login.',
      )
    }
    if (password !== undefined) {
      const holder = await verifyPassword(ports, { username: caller.username, password, clientAddress })
      if (holder?.userId === caller.userId) return
      throw new ProblemError('wrong-password', 'The password is not right.')
    }
    if (caller.scheme === 'basic' || caller.credential.carriesPassword === true) return
    if (await isRecent(ports, caller)) return
    throw new ProblemError(
      'recent-login-required',
      'Send your password in the member "password", or log in again and repeat this within five minutes.',
    )
  }
}

const recentSql = `select 1 as recent from auth.login_families f
    where f.id = $1::text::uuid and f.user_id = $2::text::uuid and f.created_at > $3::text::timestamptz
  union all select 1 from auth.sessions s
    where s.id = $1::text::uuid and s.user_id = $2::text::uuid and s.created_at > $3::text::timestamptz`

/** `$1`: a login or session, or null; `$2`: a user. A row when the user must prove a factor, and the login has none. */
const lackingFactorSql = (demand: string) => `select 1 as lacking from auth.users u
  where u.id = $2::text::uuid and ${demand} and not exists (
    select 1 from auth.login_families f
      where f.id = $1::text::uuid and f.user_id = u.id and f.second_factor is not null
    union all select 1 from auth.sessions s
      where s.id = $1::text::uuid and s.user_id = u.id and s.second_factor is not null)`

/** Null for a credential that is no login. The token of an API key has the id of the key, which is none either. */
const loginIdOf = ({ credential: { loginId } }: Proving): string | null =>
  loginId !== undefined && isUuid(loginId) ? loginId : null

async function isRecent({ database, clock }: RecentProofPorts, caller: Proving): Promise<boolean> {
  const since = rfc3339(clock.now() - recentLoginMs)
  return (await database.query(recentSql, [loginIdOf(caller), caller.userId, since])).length > 0
}
