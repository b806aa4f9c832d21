import type { Systems } from '../../shared/platform/systems/systems.ts'
import type { LoginThrottle } from '../../shared/protocol/authentication/login-throttle.ts'
import type { AccountLocks } from '../../shared/server/login-throttle/account-locks.ts'
import type { Audit } from '../audit/audit.ts'
import type { PasswordHashing } from '../passwords/password-hashing.ts'
import type { PrincipalPublisher } from '../principals/principal-publisher.ts'
import type { Sealing } from '../store/sealing.ts'

/** What the users, keys, logins and services of an auth server are made of. `server.ts` makes one for the process. */
export interface AuthSystems extends Systems {
  readonly accountLocks: AccountLocks
  readonly audit: Audit
  readonly hashing: PasswordHashing
  readonly loginThrottle: LoginThrottle
  /** Announces changes of principals. */
  readonly publisher: PrincipalPublisher
  /** The public origins of the pair. */
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
  /** Encrypts what the database keeps secret. */
  readonly sealing: Sealing
}
