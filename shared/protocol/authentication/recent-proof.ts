/** Recent proof, as both servers ask for it (docs/contract/accounts.md#recent-proof). */
import type { Caller } from './authenticate.ts'

/** The parts of a caller that prove something. */
export interface Proving extends Pick<Caller, 'username' | 'userId' | 'scheme'> {
  readonly credential: Pick<Caller['credential'], 'loginId' | 'isForwarded' | 'carriesPassword'>
}

/** The login that the credential itself proves: a service behind a proxy has not seen that of its token. */
export const provenLogin = ({ credential: { loginId, isForwarded } }: Pick<Proving, 'credential'>) =>
  isForwarded === true ? undefined : loginId

/** The proof that a request carries. */
export interface RecentProof {
  /** The caller's own password, if the request has it. */
  readonly password: string | undefined
  /** A one-time code or recovery code beside the password, if the request has it. */
  readonly code: string | undefined
  /** The client's canonical address. */
  readonly clientAddress: string
}

/**
 * Refuses a request without recent proof. Proof is the user's password, in the request or in its credential, or a login
 * younger than five minutes. So a stolen token or key alone cannot create access that lasts longer. A user who has a
 * second factor, or needs one, proves it too: the request comes by a login or session that began with one, or it has a
 * one-time code beside the password.
 *
 * @throws ProblemError `wrong-password`, `recent-login-required`, `second-factor-login-required`, `too-many-attempts`
 * @throws Unavailable
 */
export type RequireRecentProof = (caller: Proving, proof: RecentProof) => Promise<unknown>
