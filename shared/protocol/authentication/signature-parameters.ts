/** The parameters that a signed request carries in its query. */
/** The parameters of a signed request (CONTRACT section 4), in lower case. */
export const signatureParameters = new Set(['timestamp', 'apikey', 'signature', 'nonce', 'bodysha256', 'method'])

/** True for a parameter of a signed request: allowed on every route, read by none. */
export const isSignatureParameter = (name: string): boolean =>
  signatureParameters.has(name) ||
  (/[A-Z]/.test(name) && signatureParameters.has(name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())))

/** ASCII letters alone: no locale, no folding of other scripts. */
export const lowerCase = (text: string): string =>
  /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text
