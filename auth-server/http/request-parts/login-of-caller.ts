import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { LoginGeneration } from '../../principals/principal-change.ts'

/** The login or session of the credential; null when it belongs to none. */
export const loginOf = ({ credential: { loginId, generation } }: Caller): LoginGeneration | null =>
  loginId === undefined || generation === undefined ? null : { id: loginId, generation }
