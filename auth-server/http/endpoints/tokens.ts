/** A pair of tokens in responses. */
import * as z from 'zod'
import { component, seconds } from '../../../shared/server/endpoints/endpoint.ts'

/** Header fields of responses with tokens, beside `Cache-Control: no-store` (RFC 6749 §5.1). */
export const noCache = { pragma: 'no-cache' } as const

/** The success of endpoints that issue a pair. */
export const tokenPair = {
  success: { description: 'A pair of tokens.' },
  response: component(
    'Tokens',
    z
      .object({
        access_token: z.string(),
        refresh_token: z.string(),
        token_type: z.literal('Bearer'),
        expires_in: seconds,
        refresh_expires_in: seconds,
      })
      .meta({ description: 'RFC 6749 §5.1. Durations in seconds.' }),
  ),
} as const
