/** POST /login, /refresh, /logout: the token flow (CONTRACT section 2). */
import { z } from 'zod'
import { Refused } from '../../../shared/errors.ts'
import { emptyAnswer, jsonAnswer } from '../../../shared/http/answer.ts'
import { type HttpCall, maxOpenBodyBytes } from '../../../shared/http/call.ts'
import { readBodyAs } from '../../../shared/http/json-body.ts'
import type { Route } from '../../../shared/http/routes.ts'
import { requireSecureTransport } from '../../../shared/http/transport.ts'
import type { Audit } from '../../audit/audit.ts'
import type { TokenAnswer } from '../../logins/issue-tokens.ts'
import type { LogIn } from '../../logins/login.ts'
import type { LogOut } from '../../logins/logout.ts'
import type { Refresh } from '../../logins/refresh.ts'
import type { EndToken } from '../../oauth/end-token.ts'
import type { RefreshTokens } from '../../tokens/refresh-tokens.ts'
import { audited, eventOf } from '../audited.ts'
import { bearerChallenge, bearerTokenOf, invalidTokenChallenge } from '../bearer-credential.ts'
import { nameCaller } from '../name-caller.ts'
import { describeLogin, describeLogout, describeRefresh } from '../openapi/login-operations.ts'

export interface LoginEndpointPorts {
  readonly logIn: LogIn
  readonly refresh: Refresh
  readonly logOut: LogOut
  readonly endToken: EndToken
  readonly refreshTokens: Pick<RefreshTokens, 'read'>
  readonly audit: Audit
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
  if (!ended) return
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
  const request = { username, password, ...client, proved: nameCaller(call) }
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
 * is no refresh token of ours is refused without an entry: strangers could fill the log with it.
 */
export async function auditedRefresh(
  call: HttpCall,
  token: string,
  { refresh, refreshTokens, audit }: Pick<LoginEndpointPorts, 'refresh' | 'refreshTokens' | 'audit'>,
): Promise<TokenAnswer> {
  const presented = await refreshTokens.read(token)
  if (!presented) return refresh(token)
  const about = { call, actor: presented.username, target: presented.loginId }
  const reused = () => audit.record(eventOf({ ...about, action: 'login.ended' }, 'refresh-token-reused'))
  return audited(audit, { ...about, action: 'token.refreshed' }, () => refresh(token, { reused }))
}
