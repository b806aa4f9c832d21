/** Request bodies of the routes below `/sessions`: JSON and HTML forms. */
import * as z from 'zod'
import { formType, isForm, readForm } from '../../../../shared/platform/http/content/form-body.ts'
import { decodeJson, readJson } from '../../../../shared/platform/http/content/json-body.ts'
import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import { jsonSchemaOf } from '../../../../shared/platform/openapi/json-schema.ts'
import { checkValue, invalidValue } from '../../../../shared/platform/problems/check-value.ts'
import type { BodyReader } from '../../../../shared/server/endpoints/endpoint.ts'
import type { Audiences } from '../../../oauth/audiences.ts'
import { resource } from '../../request-parts/resource-member.ts'
import type { ReturnOrigins } from '../../services/auth-services.ts'
import { challengeProof, type LoginProof, loginProof, passwordProof } from '../second-factors/login-proof.ts'

const returnTo = z.string().optional().meta({
  description: 'Where the browser goes on: an absolute URL on the public origin of either server.',
})

const jsonSchema = z.union([passwordProof, challengeProof])
const formSchema = z.union([
  passwordProof.extend({ return_to: returnTo }),
  z.strictObject({
    challenge: z.string(),
    code: z.string().optional(),
    passkey: z.string().optional().meta({ description: 'As JSON text.' }),
    resource,
    return_to: returnTo,
  }),
])
/** Forms can send only GET and POST. Frameworks write the wanted method in upper or lower case. */
const deletion = z.enum(['DELETE', 'delete'])
const endingSchema = z.strictObject({ _method: deletion.optional(), return_to: returnTo })

/** A login as sent. */
export interface SessionLogin extends LoginProof {
  /** The URL that the browser goes to afterwards. */
  readonly returnTo: string | undefined
}

/** User name and password, as JSON or as a form. */
export const sessionLoginBody = ({
  origins,
  audiences,
}: {
  readonly origins: ReturnOrigins
  readonly audiences: Audiences
}): BodyReader<SessionLogin> => ({
  read: async (request) => {
    if (!isForm(request)) return { ...(await loginProof(await readJson(request), audiences)), returnTo: undefined }
    const { return_to: target, ...fields } = await fieldsOf(request)
    const proof = await loginProof(proofFields(fields), audiences)
    return { ...proof, returnTo: target === undefined ? undefined : returnUrl(target, origins) }
  },
  describe: () => ({
    schema: jsonSchemaOf(jsonSchema),
    required: true,
    alternatives: { [formType]: jsonSchemaOf(formSchema) },
  }),
})

/** The fields of a form as the members of JSON: an empty field counts as absent, and `passkey` is JSON text. */
function proofFields({ code, passkey, resource: target, ...fields }: Record<string, string>): Record<string, unknown> {
  return {
    ...fields,
    ...(code && { code }),
    ...(target && { resource: target }),
    ...(passkey && { passkey: decodeJson(Buffer.from(passkey), 'field passkey') }),
  }
}

/** The optional `return_to` of a form that ends a session. A body that is no form is ignored. */
export const endingBody = (origins: ReturnOrigins): BodyReader<{ readonly returnTo: string | undefined }> => ({
  read: async (request) => {
    if (!isForm(request)) return { returnTo: undefined }
    const { return_to: target } = checkValue(endingSchema, await fieldsOf(request))
    return { returnTo: target === undefined ? undefined : returnUrl(target, origins) }
  },
  describe: () => ({ schema: jsonSchemaOf(endingSchema), required: false, mediaTypes: [formType] }),
})

/**
 * True when a POST means DELETE: by `X-HTTP-Method-Override`, or by the field `_method` of a form.
 *
 * @throws ProblemError `invalid-body`
 */
export async function isOverriddenDelete(request: HttpRequest): Promise<boolean> {
  const header = request.header('x-http-method-override')
  if (header !== undefined) return header.trim().toUpperCase() === 'DELETE'
  return isForm(request) && deletion.safeParse((await readForm(request)).get('_method')).success
}

const fieldsOf = async (request: HttpRequest) => Object.fromEntries(await readForm(request))

/**
 * Checks the `return_to` of a form, and returns it as a normalized URL. Accepts only an absolute URL that begins
 * exactly with a public origin, and that no parser can read as another host. An open redirect would lead users of this
 * server to foreign sites.
 *
 * @throws ProblemError `invalid-value`
 */
function returnUrl(text: string, { publicOrigins }: ReturnOrigins): string {
  const origins = Object.values(publicOrigins)
  const isSpeltOut = origins.some(
    (origin) => text === origin || (text.startsWith(origin) && /^[/?#]/.test(text.slice(origin.length))),
  )
  const url = isSpeltOut && /^[\x21-\x5b\x5d-\x7e]*$/.test(text) && URL.canParse(text) ? new URL(text) : undefined
  if (url && origins.includes(url.origin) && url.username === '' && url.password === '') return url.href
  const message = 'Expected an absolute URL on the public origin of either server.'
  throw invalidValue([{ pointer: '/return_to', code: 'foreign-url', message }])
}
