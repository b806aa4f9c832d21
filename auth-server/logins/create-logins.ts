import type { Cache } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { LoginThrottle } from '../../shared/protocol/authentication/login-throttle.ts'
import type { Audit } from '../audit/audit.ts'
import type { PasswordHashing } from '../passwords/password-hashing.ts'
import type { PrincipalPublisher } from '../principals/principal-publisher.ts'
import type { AskAtLogin } from '../second-factors/ask-at-login.ts'
import type { Sealing } from '../store/sealing.ts'
import type { Tokens } from '../tokens/create-tokens.ts'
import { createPasswordChanges } from './change-password.ts'
import { createKeySignedLogin } from './key-signed-login.ts'
import { createLoginLists } from './list-logins.ts'
import { createLogIn } from './login.ts'
import { createLogOut } from './logout.ts'
import { createRecentProof } from './recent-proof.ts'
import { createRefresh } from './refresh.ts'
import { createRefreshTokenFamilies } from './refresh-token-families.ts'
import type { LoginLifetimes } from './refresh-token-family.ts'
import { createRevokeLogin, revokeAllLogins } from './revoke-login.ts'
import { createSessionStore } from './session-store.ts'
import { createStartSession } from './start-session.ts'
import { createStoredSessions } from './use-session.ts'

/** The settings of logins. */
export interface LoginsSettings extends LoginLifetimes {
  readonly keySignedTokenTtlSeconds: number
  readonly sessionIdleTtlSeconds: number
  readonly sessionMaxTtlSeconds: number
  readonly maxLoginsPerUser: number
}

/** The systems that logins use. */
export interface LoginsPorts {
  readonly database: Database
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly publisher: PrincipalPublisher
  readonly loginThrottle: LoginThrottle
  readonly hashing: PasswordHashing
  readonly sealing: Sealing
  readonly tokens: Tokens
  readonly secondFactors: AskAtLogin
  readonly audit: Pick<Audit, 'during'>
}

/** The functions of this folder, wired together. */
export type Logins = ReturnType<typeof createLogins>

/** Creates logins by token and sessions by cookie: log in, refresh, list, log out, change passwords. */
export function createLogins(settings: LoginsSettings, { tokens, ...given }: LoginsPorts) {
  const { database } = given
  const { sessionIdleTtlSeconds, sessionMaxTtlSeconds, maxLoginsPerUser, keySignedTokenTtlSeconds } = settings
  const refreshTokenFamilies = createRefreshTokenFamilies(database)
  const sessionStore = createSessionStore(database)
  const sessions = createStoredSessions({ ...given, sessionStore, sessionIdleTtlSeconds })
  const revokeLogin = createRevokeLogin(given)
  const ports = {
    ...given,
    ...tokens,
    refreshTokenFamilies,
    revokeLogin,
    lifetimes: settings,
    maxLoginsPerUser,
    sessionIdleTtlSeconds,
  }
  return {
    refreshTokenFamilies,
    sessions,
    logIn: createLogIn(ports),
    logInKeySigned: createKeySignedLogin({ ...ports, keySignedTokenTtlSeconds }),
    startSession: createStartSession({ ...ports, sessionStore, sessions, sessionMaxTtlSeconds }),
    refresh: createRefresh(ports),
    logOut: createLogOut(ports),
    passwords: createPasswordChanges(ports),
    requireRecentProof: createRecentProof(ports),
    loginLists: createLoginLists({ ...given, sessionIdleTtlSeconds }),
    ownerOf: sessionStore.ownerOf,
    revokeLogin,
    revokeAllLogins: (ending: Parameters<typeof revokeAllLogins>[1]) => revokeAllLogins(ports, ending),
  }
}
