import type { AskAtLogin } from '../second-factors/ask-at-login.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { Tokens } from '../tokens/create-tokens.ts'
import { createPasswordChanges } from './change-password.ts'
import { createKeySignedLogin } from './key-signed-login.ts'
import { createLoginLists } from './list-logins.ts'
import { createLogIn } from './login.ts'
import type { LoginSystems, LoginsSettings } from './login-systems.ts'
import { createLogOut } from './logout.ts'
import { makeRoom, type NewLogin } from './make-room.ts'
import { createRecentProof } from './recent-proof.ts'
import { createRefresh } from './refresh.ts'
import { createRefreshTokenFamilies } from './refresh-token-families.ts'
import { createRevokeLogin, revokeAllLogins } from './revoke-login.ts'
import { createSessionStore } from './session-store.ts'
import { createStartSession } from './start-session.ts'
import { createStoredSessions } from './use-session.ts'

/** The functions of this folder, wired together. */
export type Logins = ReturnType<typeof createLogins>

/** What logins are made of. */
export interface LoginSources extends AuthSystems, Tokens {
  readonly secondFactors: AskAtLogin
}

/** Creates what the functions of this folder work with. */
export function createLoginSystems(settings: LoginsSettings, given: LoginSources): LoginSystems {
  const { database } = given
  const sessionStore = createSessionStore(database)
  return {
    ...given,
    settings,
    sessionStore,
    sessions: createStoredSessions(given, { ...settings, sessionStore }),
    refreshTokenFamilies: createRefreshTokenFamilies(database),
    revokeLogin: createRevokeLogin(given),
  }
}

/** Creates logins by token and sessions by cookie: log in, refresh, list, log out, change passwords. */
export function createLogins(settings: LoginsSettings, given: LoginSources) {
  const systems = createLoginSystems(settings, given)
  const { refreshTokenFamilies, sessions, sessionStore, revokeLogin } = systems
  return {
    refreshTokenFamilies,
    sessions,
    logIn: createLogIn(systems),
    logInKeySigned: createKeySignedLogin(systems),
    startSession: createStartSession(systems),
    refresh: createRefresh(systems),
    logOut: createLogOut(systems),
    passwords: createPasswordChanges(systems),
    requireRecentProof: createRecentProof(systems),
    loginLists: createLoginLists(systems),
    ownerOf: sessionStore.ownerOf,
    revokeLogin,
    makeRoom: (started: NewLogin) => makeRoom(systems, started),
    revokeAllLogins: (ending: Parameters<typeof revokeAllLogins>[1]) => revokeAllLogins(systems, ending),
  }
}
