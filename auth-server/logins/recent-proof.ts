import { validate as isUuid } from 'uuid'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Proving, RequireRecentProof } from '../../shared/protocol/authentication/recent-proof.ts'
import { type VerifyPasswordPorts, verifyPassword } from './verify-password.ts'

/** The age up to which a login counts as recent proof, in milliseconds. A refresh does not make a login younger. */
export const recentLoginMs = 300_000

/** The systems that the check uses. */
export interface RecentProofPorts extends VerifyPasswordPorts {
  readonly clock: Clock
}

/** Creates the check over these ports. */
export function createRecentProof(ports: RecentProofPorts): RequireRecentProof {
  return async (caller, { password, clientAddress }) => {
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

/** False for the token of an API key: its `loginId` is the id of the key, which is no login. */
async function isRecent({ database, clock }: RecentProofPorts, { credential, userId }: Proving): Promise<boolean> {
  const { loginId } = credential
  if (loginId === undefined || !isUuid(loginId)) return false
  const since = rfc3339(clock.now() - recentLoginMs)
  return (await database.query(recentSql, [loginId, userId, since])).length > 0
}
