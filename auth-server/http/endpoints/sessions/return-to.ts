import { invalidValue } from '../../../../shared/platform/http/content/check-value.ts'

/** Of the settings, where a form may lead back to. */
export interface ReturnOrigins {
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
}

/**
 * The URL that a form's `return_to` names, in the form in which it is answered. Only an absolute URL that spells a
 * public origin out exactly will do, without anything that some parser might read as another host: an open redirection
 * leads users of this server astray.
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
