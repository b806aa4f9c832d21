import type { Answer } from '../../../shared/platform/http/answer.ts'
import { type HttpCall, maxOpenBodyBytes } from '../../../shared/platform/http/call.ts'
import { readForm } from '../../../shared/platform/http/content/form-body.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import { OAuthRefused } from '../../oauth/oauth-refused.ts'
import { answerOfRefusal } from './oauth-answers.ts'

/** The parameters of a request: what was sent without a value counts as left out (RFC 6749 §3.2). */
export interface OAuthForm {
  get(name: string): string | undefined
  /** @throws OAuthRefused `invalid_request` when it is not there */
  required(name: string): string
}

interface OAuthEndpoint {
  readonly path: string
  readonly operation: Operation
  /** `readForm` throws OAuthRefused `invalid_request` for what is no form. */
  handle(call: HttpCall, readForm: () => Promise<OAuthForm>): Promise<Answer>
}

/** An endpoint below `/oauth`. */
export const oauthRoute = ({ path, operation, handle }: OAuthEndpoint): Route => ({
  methods: ['POST'],
  path,
  maxBodyBytes: maxOpenBodyBytes,
  describe: () => [operation],
  handle: async (call) => {
    try {
      await call.readBody()
      requireSecureTransport(call.peer)
      return await handle(call, () => readOAuthForm(call))
    } catch (error) {
      const answer = answerOfRefusal(call, error)
      if (answer) return answer
      throw error
    }
  },
})

async function readOAuthForm(call: HttpCall): Promise<OAuthForm> {
  // Whatever stands in a URL ends up in logs (RFC 6749 §2.3.1).
  if ([...call.query.keys()].some((name) => !call.isCredentialParameter(name))) {
    throw new OAuthRefused('invalid_request', 'Send all parameters in the body, none in the URL.')
  }
  const fields = await readForm(call).catch((error: unknown) => {
    const isOfForm = error instanceof Refused && ['invalid-body', 'unsupported-media-type'].includes(error.code)
    throw isOfForm ? new OAuthRefused('invalid_request', error.message) : error
  })
  const get = (name: string) => fields.get(name) || undefined
  return {
    get,
    required: (name) => {
      const value = get(name)
      if (value === undefined) throw new OAuthRefused('invalid_request', `The parameter ${name} is missing.`)
      return value
    },
  }
}
