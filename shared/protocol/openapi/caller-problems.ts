/** What a request that needs a caller may meet, whatever it is for. */
export const callerProblems: readonly string[] = [
  ...['body-too-large', 'insecure-transport', 'several-credentials', 'token-expired', 'unauthenticated'],
  ...['unknown-scheme', 'invalid-token', 'login-ended', 'principal-disabled', 'unavailable'],
  // Of sessions, Basic, Digest and key-signed tokens.
  ...['invalid-credentials', 'stale-nonce', 'invalid-session', 'too-many-attempts', 'cross-site'],
  ...['token-password-required', 'invalid-parameter'],
  // Of signed requests.
  ...['invalid-signature', 'signature-too-old', 'signature-from-future', 'signature-used', 'ambiguous-parameter'],
  ...['body-hash-required', 'signature-method-required'],
]
