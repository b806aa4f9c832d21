/** What the routes below `/sessions` are sent, as JSON and as HTML forms. */
import { z } from 'zod'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { checkValue } from '../../../shared/platform/http/content/check-value.ts'
import { isForm, readForm } from '../../../shared/platform/http/content/form-body.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import { type ReturnOrigins, returnUrl } from '../return-to.ts'

const returnTo = z.string().optional().meta({
  description: 'Where the browser goes on: an absolute URL on the public origin of either server.',
})

export const sessionJsonSchema = z.strictObject({ username: z.string(), password: z.string() })
export const sessionFormSchema = sessionJsonSchema.extend({ return_to: returnTo })
/** Forms have only GET and POST, and frameworks that make up for it write the method either way. */
const deletion = z.enum(['DELETE', 'delete'])
export const endingFormSchema = z.strictObject({ _method: deletion.optional(), return_to: returnTo })

/** A login as sent. */
export interface SessionLogin {
  readonly username: string
  readonly password: string
  /** Where the form leads back to. */
  readonly returnTo: string | undefined
}

/** @throws Refused `invalid-body`, `invalid-value`, `unsupported-media-type` */
export async function readSessionLogin(call: HttpCall, origins: ReturnOrigins): Promise<SessionLogin> {
  if (!isForm(call)) return { ...(await readBodyAs(call, sessionJsonSchema)), returnTo: undefined }
  const { return_to: target, ...credentials } = checkValue(sessionFormSchema, await fieldsOf(call))
  return { ...credentials, returnTo: target === undefined ? undefined : returnUrl(target, origins) }
}

/** Where the form that ends a session leads back to, if it says so. @throws Refused `invalid-body`, `invalid-value` */
export async function readEndingReturn(call: HttpCall, origins: ReturnOrigins): Promise<string | undefined> {
  if (!isForm(call)) return undefined
  const { return_to: target } = checkValue(endingFormSchema, await fieldsOf(call))
  return target === undefined ? undefined : returnUrl(target, origins)
}

/** True when a POST stands for DELETE: by the header field that proxies know, or by a field of a form. @throws Refused `invalid-body` */
export async function isOverriddenDelete(call: HttpCall): Promise<boolean> {
  const header = call.header('x-http-method-override')
  if (header !== undefined) return header.trim().toUpperCase() === 'DELETE'
  return isForm(call) && deletion.safeParse((await readForm(call)).get('_method')).success
}

const fieldsOf = async (call: HttpCall) => Object.fromEntries(await readForm(call))
