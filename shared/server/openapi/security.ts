/** The authentication schemes as OpenAPI security schemes. */

import type { JsonSchema } from '../../platform/http/operation.ts'
import { type SchemeName, schemeNames } from '../../protocol/authentication/scheme.ts'

interface DescribedScheme {
  readonly components: Readonly<Record<string, JsonSchema>>
  /** The alternatives, each with the names of the components that are sent together. */
  readonly alternatives: readonly (readonly string[])[]
}

const inQuery = (name: string, description: string): JsonSchema => ({ type: 'apiKey', in: 'query', name, description })
const inHeader = (name: string, description: string): JsonSchema => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
})

const schemes: Partial<Record<SchemeName, DescribedScheme>> = {
  bearer: {
    components: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'An access token of the auth server.',
      },
    },
    alternatives: [['bearer']],
  },
  'key-signed': {
    components: {
      keySigned: {
        type: 'http',
        scheme: 'KeySigned',
        description: 'A key-signed token of the auth server: `kst1.<kid>.<base64url>`.',
      },
      keySignedPassword: {
        type: 'apiKey',
        in: 'header',
        name: 'X-Key-Signed-Password',
        description:
          'Beside a key-signed token that holds the hash of a password: the password in UTF-8, as base64url.',
      },
    },
    alternatives: [['keySigned'], ['keySigned', 'keySignedPassword']],
  },
  session: {
    components: {
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: '__Host-keyhold_session',
        description: 'Over HTTPS: the cookie that `POST /sessions` of the auth server sets.',
      },
      plainSession: {
        type: 'apiKey',
        in: 'cookie',
        name: 'keyhold_session',
        description: 'The same over plain HTTP, on loopback.',
      },
    },
    alternatives: [['session'], ['plainSession']],
  },
  digest: {
    components: {
      digest: {
        type: 'http',
        scheme: 'digest',
        description: "The user's own Digest secret (RFC 7616): SHA-256, qop=auth; the realm is `keyhold`.",
      },
    },
    alternatives: [['digest']],
  },
  basic: {
    components: {
      basic: { type: 'http', scheme: 'basic', description: 'User name and password, in UTF-8 (RFC 7617).' },
    },
    alternatives: [['basic']],
  },
  'signed-request': {
    components: {
      signedTimestamp: inQuery('timestamp', 'When the request was signed, in seconds since 1970.'),
      signedKey: inQuery('apiKey', 'The id of the API key.'),
      signature: inQuery(
        'signature',
        'Hexadecimal HMAC-SHA256 or RSA-SHA256 over path and sorted parameters. `method`, `bodySha256` and `nonce` ' +
          'may be signed with them.',
      ),
      signatureInput: inHeader('Signature-Input', 'What one signature covers (RFC 9421 §4.1); `keyid` is an API key.'),
      messageSignature: inHeader('Signature', 'That signature (RFC 9421 §4.2).'),
    },
    alternatives: [
      ['signedTimestamp', 'signedKey', 'signature'],
      ['signatureInput', 'messageSignature'],
    ],
  },
}

/**
 * Describes the enabled schemes for a document: the components, and the alternatives, of which a request must satisfy
 * one, with all the components that it names.
 */
export function describeSecurity(enabled: readonly SchemeName[]): {
  readonly securitySchemes: Readonly<Record<string, JsonSchema>>
  readonly security: readonly JsonSchema[]
} {
  const described = schemeNames.filter((name) => enabled.includes(name)).flatMap((name) => schemes[name] ?? [])
  return {
    securitySchemes: Object.assign({}, ...described.map(({ components }) => components)),
    security: described.flatMap(({ alternatives }) =>
      alternatives.map((names) => Object.fromEntries(names.map((name) => [name, []]))),
    ),
  }
}
