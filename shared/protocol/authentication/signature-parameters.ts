/** The query parameters of a signed request (docs/contract/callers.md#signed-request), in lower case. */
export const signatureParameters = new Set([
  'timestamp',
  'apikey',
  'signature',
  'nonce',
  'bodysha256',
  'method',
  'audience',
])

/** True for a parameter of a signed request. Every route allows these parameters, and no route reads them. */
export const isSignatureParameter = (name: string): boolean =>
  signatureParameters.has(name) || signatureParameters.has(lowerCase(name))

/** Lower case of ASCII letters only, without locales and without folding of other scripts. */
export const lowerCase = (text: string): string =>
  /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text

/**
 * The longest SIGNATURE_TTL, in seconds. Used signatures are remembered for this time, whatever the setting is: when
 * the setting is raised, a forgotten one could be accepted again.
 */
export const maxSignatureTtlSeconds = 3_600
