/** POST /login, /refresh, /logout: the token flow (CONTRACT section 2). */
import { z } from 'zod'
import { emptyAnswer, jsonAnswer } from '../../../shared/platform/http/answer.ts'
import { type HttpCall, maxOpenBodyBytes } from '../../../shared/platform/http/call.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { Guesses } from '../../../shared/protocol/login-throttle/login-throttle.ts'
import type { Audit } from '../../audit/audit.ts'
import type { TokenAnswer } from '../../logins/issue-tokens.ts'
import type { LogIn } from '../../logins/login.ts'
import type { LogOut } from '../../logins/logout.ts'
import type { Refresh } from '../../logins/refresh.ts'
import type { EndToken } from '../../oauth/end-token.ts'
import { type AuditedWork, auditDisplaced, audited, eventOf } from '../audited.ts'
import { bearerChallenge, bearerTokenOf, invalidTokenChallenge } from '../bearer-credential.ts'
import { nameCaller } from '../name-caller.ts'
import { describeLogin, describeLogout, describeRefresh } from '../openapi/login-operations.ts'

/** What a refresh needs, at either endpoint. */
export interface RefreshEndpointPorts {
  readonly refresh: Refresh
  readonly audit: Audit
  readonly guesses: Pick<Guesses, 'judge'>
}

export interface LoginEndpointPorts extends RefreshEndpointPorts {
  readonly logIn: LogIn
  readonly logOut: LogOut
  readonly endToken: EndToken
}

/** Answers with credentials are kept by nobody (RFC 6749 §5.1). */
const neverStored = { 'cache-control': 'no-store', pragma: 'no-cache' }

const credentialsSchema = z.strictObject({ username: z.string(), password: z.string() })

export const loginRoutes = (ports: LoginEndpointPorts): Route[] => [
  {
    methods: ['POST'],
    path: '/login',
    maxBodyBytes: maxOpenBodyBytes,
    describe: () => [describeLogin(credentialsSchema)],
    handle: (call) => handleLogin(call, ports),
  },
  {
    methods: ['POST'],
    path: '/refresh',
    maxBodyBytes: maxOpenBodyBytes,
    describe: () => [describeRefresh()],
    handle: async (call) => {
      await call.readBody()
      requireSecureTransport(call.peer)
      return jsonAnswer(200, await auditedRefresh(call, bearerTokenOf(call), ports), neverStored)
    },
  },
  {
    methods: ['POST'],
    path: '/logout',
    maxBodyBytes: maxOpenBodyBytes,
    describe: () => [describeLogout()],
    handle: async (call) => {
      await call.readBody()
      requireSecureTransport(call.peer)
      await endTokens(call, bearerTokenOf(call), ports)
      return emptyAnswer(204, neverStored)
    },
  },
]

/** Ends what the token belongs to: its login, or, where it is an API key's, the token alone. */
async function endTokens(call: HttpCall, token: string, { logOut, endToken, audit }: LoginEndpointPorts) {
  const login = await logOut(token).catch(challengedForToken)
  const ended = login ?? (await endToken(token))
  if (!ended?.wasAlive) return
  const action = login ? 'login.ended' : 'token.revoked'
  await audit.record(eventOf({ call, actor: ended.username, action, target: ended.id }, 'succeeded'))
}

/** @throws the error, with a challenge when it is about the token (RFC 6750 §3) */
function challengedForToken(error: unknown): never {
  if (!(error instanceof Refused) || error.code !== 'invalid-token') throw error
  throw new Refused(error.code, error.message, { headers: invalidTokenChallenge })
}

async function handleLogin(call: HttpCall, { logIn, audit }: LoginEndpointPorts) {
  await call.readBody()
  requireSecureTransport(call.peer)
  const { username, password } = await readBodyAs(call, credentialsSchema)
  const client = { clientAddress: call.peer.address, userAgent: call.header('user-agent') }
  const told = { proved: nameCaller(call), onDisplaced: auditDisplaced(audit, call) }
  const request = { username, password, ...client, ...told }
  try {
    const about = { call, actor: username, action: 'login.started', target: username }
    return jsonAnswer(200, await audited(audit, about, () => logIn(request)), neverStored)
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'invalid-credentials') throw error
    throw new Refused(error.code, error.message, { headers: bearerChallenge })
  }
}

/**
 * A refresh with its entries: the new pair or the refusal, and before it, when a used token comes back, that the login ends. What
 * belongs to no login that is known is refused without an entry. Each failure counts for the client's address; a token that is right
 * is never refused by that, since its client could lose its login by waiting.
 *
 * @throws Refused as `Refresh`, `too-many-attempts`; Unavailable
 */
export async function auditedRefresh(
  call: HttpCall,
  token: string,
  { refresh, audit, guesses }: RefreshEndpointPorts,
): Promise<TokenAnswer> {
  let about: AuditedWork = { call, action: 'token.refreshed' }
  let isKnown = false
  try {
    const answer = await refresh(token, {
      found: ({ id: target, username: actor }) => {
        about = { ...about, actor, target }
        isKnown = true
      },
      reused: () => audit.record(eventOf({ ...about, action: 'login.ended' }, 'refresh-token-reused')),
    })
    await audit.record(eventOf(about, 'succeeded'))
    return answer
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (isKnown) await audit.recordRefusal(eventOf(about, error.code))
    await countFailure(call, { audit, guesses })
    throw error
  }
}

/** @throws Refused `too-many-attempts`; Unavailable */
async function countFailure(call: HttpCall, { audit, guesses }: Pick<RefreshEndpointPorts, 'audit' | 'guesses'>) {
  try {
    await guesses.judge({ account: undefined, address: call.peer.address }, false)
  } catch (error) {
    if (error instanceof Refused) await audit.recordRefusal(eventOf({ call, action: 'token.refreshed' }, error.code))
    throw error
  }
}
