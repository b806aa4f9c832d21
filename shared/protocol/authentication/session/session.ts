/**
 * The scheme `session`: the key in the cookie is looked up by its hash; its existence, its idle time and its lifetime
 * decide (docs/contract/callers.md#session-cookie).
 */

import type { HttpRequest } from '../../../platform/http/request.ts'
import { ProblemError } from '../../../platform/problems/errors.ts'
import type { Traced } from '../../../platform/trace-context.ts'
import type { Scheme, VerifiedCredential } from '../scheme.ts'
import { expireAll, type SessionCookie } from './session-cookie.ts'
import { isSessionKey, type KnownSession, sessionKeyHash } from './session-times.ts'

/** The sessions that a server knows. Neither function returns an expired one. */
export interface Sessions {
  /** The session of this key for an action: moves the last-action time when it is due. @throws Unavailable */
  use(keyHash: string, traceContext?: Traced): Promise<KnownSession | undefined> | KnownSession | undefined
  /** The session without an action. @throws Unavailable */
  look(keyHash: string, traceContext?: Traced): Promise<KnownSession | undefined>
}

interface SessionSchemePorts {
  readonly cookie: SessionCookie
  readonly sessions: Sessions
}

/** Reads `Cookie: keyhold_session=<key>`, under the name that `SessionCookie` chooses. */
export function createSessionScheme({ cookie, sessions }: SessionSchemePorts): Scheme {
  const refusalHeaders = (request: HttpRequest) => ({ 'set-cookie': [cookie.expire(request)] })
  const refuse = (request: HttpRequest) => {
    const detail = 'The session of this cookie does not exist, has ended or was not used for too long. Sign in again.'
    return new ProblemError('invalid-session', detail, { headers: refusalHeaders(request) })
  }
  return {
    name: 'session',
    isSentByBrowsers: true,
    isForgottenAmongSeveral: true,
    challenge: () => undefined,
    refusalHeaders,
    place: { find: (request) => onlyCookie(cookie, request) },
    verify: (key, request) => {
      if (!isSessionKey(key)) throw refuse(request)
      const keyHash = sessionKeyHash(key)
      // A stream is one action, at its beginning. It ends with its session, also when the session is idle for too long.
      const recheck = async () => {
        if (!(await sessions.look(keyHash, request))) throw refuse(request)
      }
      const credentialOf = (session: KnownSession | undefined): VerifiedCredential => {
        if (!session) throw refuse(request)
        const { id, username, generation, audience, expiresAt } = session
        return { username, generation, loginId: id, audience, expiresAt, recheck }
      }
      const using = sessions.use(keyHash, request)
      return using instanceof Promise ? using.then(credentialOf) : credentialOf(using)
    },
  }
}

/**
 * @throws ProblemError `several-credentials` for two cookies of one name: the server cannot know which one is meant
 * (RFC 6265bis §4.2.2). A browser forgets them all. Otherwise nobody could sign in any more.
 */
function onlyCookie(cookie: SessionCookie, request: HttpRequest): string | undefined {
  const keys = cookie.read(request)
  if (keys.length <= 1) return keys[0]
  const detail =
    'The request carries more than one session cookie. A browser forgets them now: sign in again. If they come back, ' +
    'delete the cookies of this site in the browser.'
  throw new ProblemError('several-credentials', detail, { headers: { 'set-cookie': expireAll(cookie, request) } })
}
