/** POST /login, /refresh, /logout: the token flow (CONTRACT section 2). */
import { z } from 'zod'
import { Refused } from '../../../shared/errors.ts'
import { emptyAnswer, jsonAnswer } from '../../../shared/http/answer.ts'
import type { HttpCall } from '../../../shared/http/call.ts'
import { readBodyAs } from '../../../shared/http/json-body.ts'
import type { Route } from '../../../shared/http/routes.ts'
import { requireSecureTransport } from '../../../shared/http/transport.ts'
import type { LogIn } from '../../logins/login.ts'
import type { LogOut } from '../../logins/logout.ts'
import type { Refresh } from '../../logins/refresh.ts'
import { bearerChallenge, bearerTokenOf } from '../bearer-credential.ts'
import { describeLogin, describeLogout, describeRefresh } from '../openapi/login-operations.ts'

export interface LoginEndpointPorts {
  readonly logIn: LogIn
  readonly refresh: Refresh
  readonly logOut: LogOut
}

/** Answers with credentials are kept by nobody (RFC 6749 §5.1). */
const neverStored = { 'cache-control': 'no-store', pragma: 'no-cache' }

const credentialsSchema = z.strictObject({ username: z.string(), password: z.string() })

export const loginRoutes = ({ logIn, refresh, logOut }: LoginEndpointPorts): Route[] => [
  {
    methods: ['POST'],
    path: '/login',
    describe: () => [describeLogin(credentialsSchema)],
    handle: (call) => handleLogin(call, logIn),
  },
  {
    methods: ['POST'],
    path: '/refresh',
    describe: () => [describeRefresh()],
    handle: async (call) => {
      requireSecureTransport(call.peer)
      return jsonAnswer(200, await refresh(bearerTokenOf(call)), neverStored)
    },
  },
  {
    methods: ['POST'],
    path: '/logout',
    describe: () => [describeLogout()],
    handle: async (call) => {
      requireSecureTransport(call.peer)
      await logOut(bearerTokenOf(call))
      return emptyAnswer(204, neverStored)
    },
  },
]

async function handleLogin(call: HttpCall, logIn: LogIn) {
  await call.readBody()
  requireSecureTransport(call.peer)
  const { username, password } = await readBodyAs(call, credentialsSchema)
  const request = { username, password, clientAddress: call.peer.address, userAgent: call.header('user-agent') }
  try {
    return jsonAnswer(200, await logIn(request), neverStored)
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'invalid-credentials') throw error
    throw new Refused(error.code, error.message, { headers: bearerChallenge })
  }
}
