import type { AskAtLogin } from '../second-factors/ask-at-login.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { Tokens } from '../tokens/create-tokens.ts'
import type { RefreshTokenFamilies } from './refresh-token-families.ts'
import type { LoginLifetimes } from './refresh-token-family.ts'
import type { RevokeLogin } from './revoke-login.ts'
import type { SessionStore } from './session-store.ts'
import type { StoredSessions } from './use-session.ts'

/** The settings of logins. */
export interface LoginsSettings extends LoginLifetimes {
  readonly keySignedTokenTtlSeconds: number
  readonly sessionIdleTtlSeconds: number
  readonly sessionMaxTtlSeconds: number
  /** Token logins and sessions together. */
  readonly maxLoginsPerUser: number
}

/** What the functions of this folder work with (`create-logins.ts`). */
export interface LoginSystems extends AuthSystems, Tokens {
  readonly settings: LoginsSettings
  readonly secondFactors: AskAtLogin
  readonly refreshTokenFamilies: RefreshTokenFamilies
  readonly revokeLogin: RevokeLogin
  readonly sessionStore: SessionStore
  readonly sessions: StoredSessions
}
