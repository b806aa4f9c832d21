/**
 * Header fields of every answer. They tell browsers not to guess another type, and not to run, frame or load the answer
 * from pages of other origins, and to send none of our addresses to other sites (ASVS 5.0 V3.4). Pages replace them
 * with the rules that they need.
 */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  // `base-uri` and `frame-ancestors` do not fall back to `default-src` (CSP Level 3 §6.3, §6.4).
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // This field has no effect on scripts that use CORS, which has its own rule (Fetch §3.7).
  'cross-origin-resource-policy': 'same-origin',
} as const

/** HTTPS only, for a year and the whole domain (RFC 6797 §6.1). */
export const strictTransportSecurity = {
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
} as const
