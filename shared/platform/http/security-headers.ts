/**
 * What every answer tells a browser, whoever writes the answer: nothing of it is guessed to be of another type, run, framed or loaded by
 * pages of other origins, and no address of ours goes to other sites (ASVS 5.0 V3.4). Pages say more, or less strictly, what they need.
 */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  // `base-uri` and `frame-ancestors` do not fall back to `default-src` (CSP Level 3 §6.3, §6.4).
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // Says nothing to scripts that call by CORS, which has its own rule (Fetch §3.7).
  'cross-origin-resource-policy': 'same-origin',
} as const

/** A year, the whole domain (RFC 6797 §6.1). */
export const strictTransportSecurity = {
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
} as const
