/** The problem codes that any request which needs a caller can get. */
export const callerProblems: readonly string[] = [
  'body-too-large',
  'insecure-transport',
  'several-credentials',
  'token-expired',
  'unauthenticated',
  'unknown-scheme',
  'invalid-token',
  'login-ended',
  'principal-disabled',
  'unavailable',
  // Sessions, Basic, Digest and key-signed tokens.
  'invalid-credentials',
  'stale-nonce',
  'invalid-session',
  'too-many-attempts',
  'cross-site',
  'token-password-required',
  'invalid-parameter',
  // Signed requests.
  'invalid-signature',
  'signature-too-old',
  'signature-from-future',
  'signature-used',
  'ambiguous-parameter',
  'body-hash-required',
  'signature-method-required',
]
