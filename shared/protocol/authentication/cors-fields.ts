import type { CorsFields } from '../../platform/http/cors.ts'

/** The header fields of both servers that scripts of trusted origins may send and read. */
export const corsFields: CorsFields = {
  request: [
    'Authorization',
    'Content-Type',
    'Content-Digest',
    'If-Match',
    'If-None-Match',
    'Idempotency-Key',
    'Keyhold-Seen',
    'Prefer',
    'Last-Event-ID',
    'Signature',
    'Signature-Input',
    'X-HTTP-Method-Override',
    'X-Key-Signed-Password',
  ],
  response: [
    'Allow',
    'Authentication-Info',
    'Date',
    'Deal-Changed',
    'Deal-Use-Cases',
    'Deal-Validated-Only',
    'Deprecation',
    'ETag',
    'Idempotent-Replayed',
    'Keyhold-Seen',
    'Link',
    'Location',
    'Preference-Applied',
    'Retry-After',
    'Sunset',
    'WWW-Authenticate',
    'X-Request-Id',
  ],
}
