import { invalidValue } from '../../../../shared/platform/http/content/check-value.ts'

/** The origins that a form may lead back to. */
export interface ReturnOrigins {
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
}

/**
 * Checks the `return_to` of a form, and returns it as a normalized URL. Accepts only an absolute URL that begins
 * exactly with a public origin, and that no parser can read as another host. An open redirect would lead users of this
 * server to foreign sites.
 *
 * @throws ProblemError `invalid-value`
 */
export function returnUrl(text: string, { publicOrigins }: ReturnOrigins): string {
  const origins = Object.values(publicOrigins)
  const isSpeltOut = origins.some(
    (origin) => text === origin || (text.startsWith(origin) && /^[/?#]/.test(text.slice(origin.length))),
  )
  const url = isSpeltOut && /^[\x21-\x5b\x5d-\x7e]*$/.test(text) && URL.canParse(text) ? new URL(text) : undefined
  if (url && origins.includes(url.origin) && url.username === '' && url.password === '') return url.href
  const message = 'Expected an absolute URL on the public origin of either server.'
  throw invalidValue([{ pointer: '/return_to', code: 'foreign-url', message }])
}
