import { validate as isUuid } from 'uuid'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { type VerifyPasswordPorts, verifyPassword } from './verify-password.ts'

/** The age up to which a login counts as recent proof, in milliseconds. A refresh does not make a login younger. */
export const recentLoginMs = 300_000

/** The proof that a request carries. */
export interface RecentProof {
  /** The caller's own password, if the request has it. */
  readonly password: string | undefined
  /** The client's canonical address. */
  readonly clientAddress: string
}

/**
 * Refuses a request without recent proof. Proof is the user's password, in the request or in its credential, or a login
 * younger than five minutes. So a stolen token or key alone cannot create a credential that is valid for longer.
 *
 * @throws ProblemError `wrong-password`, `recent-login-required`, `too-many-attempts`
 * @throws Unavailable
 */
export type RequireRecentProof = (caller: Caller, proof: RecentProof) => Promise<void>

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
async function isRecent({ database, clock }: RecentProofPorts, { credential, userId }: Caller): Promise<boolean> {
  const { loginId } = credential
  if (loginId === undefined || !isUuid(loginId)) return false
  const since = rfc3339(clock.now() - recentLoginMs)
  return (await database.query(recentSql, [loginId, userId, since])).length > 0
}
