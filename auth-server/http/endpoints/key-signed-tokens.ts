/** POST /key-signed-tokens (CONTRACT sections 2 and 3). */
import { z } from 'zod'
import { jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { type HttpCall, maxOpenBodyBytes } from '../../../shared/platform/http/call.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { Audit } from '../../audit/audit.ts'
import { keySignedParts, type LogInKeySigned } from '../../logins/key-signed-login.ts'
import { audited } from '../audited.ts'
import { bearerChallenge } from '../bearer-credential.ts'
import { nameCaller } from '../name-caller.ts'
import { describeKeySignedLogin } from '../openapi/login-operations.ts'

export interface KeySignedTokenPorts {
  readonly logInKeySigned: LogInKeySigned
  readonly audit: Audit
}

const parts = z
  .array(z.enum(keySignedParts))
  .max(keySignedParts.length)
  .check(({ value, issues }) => {
    const at = value.findIndex((part, index) => value.indexOf(part) !== index)
    if (at < 0) return
    issues.push({
      code: 'custom',
      input: value,
      path: [at],
      params: { code: 'duplicate' },
      message: 'Name each part once.',
    })
  })

const bodySchema = z.strictObject({
  username: z.string(),
  password: z.string(),
  include: parts.default(['username']),
})

export const keySignedTokenRoutes = (ports: KeySignedTokenPorts): Route[] => [
  {
    methods: ['POST'],
    path: '/key-signed-tokens',
    maxBodyBytes: maxOpenBodyBytes,
    describe: () => [describeKeySignedLogin(bodySchema)],
    handle: (call) => handle(call, ports),
  },
]

async function handle(call: HttpCall, { logInKeySigned, audit }: KeySignedTokenPorts) {
  await call.readBody()
  requireSecureTransport(call.peer)
  const { username, password, include: asked } = await readBodyAs(call, bodySchema)
  const include = keySignedParts.filter((part) => asked.includes(part))
  const login = { username, password, include, clientAddress: call.peer.address, proved: nameCaller(call) }
  const about = { call, actor: username, action: 'key-signed-token.issued', target: username }
  try {
    const { token, kid, expiresAt } = await audited(audit, about, () => logInKeySigned(login))
    return jsonAnswer(201, { token, token_type: 'KeySigned', kid, expires_at: expiresAt, include }, noStore)
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'invalid-credentials') throw error
    throw new Refused(error.code, error.message, { headers: bearerChallenge })
  }
}
