/** GET /keys: the state of the key ring, for operators (docs/contract/operators.md#key-ring). */
import * as z from 'zod'
import { noParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import { component, defineEndpoint, time } from '../../../shared/server/endpoints/endpoint.ts'
import type { AuthServices } from '../services/auth-services.ts'

const response = component(
  'KeyStatus',
  z.object({
    items: z.array(
      z.object({
        kid: z.string().meta({ description: 'RFC 7638 thumbprint.' }),
        use: z.enum(['jwt', 'key-signed']),
        alg: z.string(),
        state: z.enum(['pending', 'active', 'retired', 'removed']),
        createdAt: time,
        publishedAt: time.nullable(),
        activatedAt: time.nullable(),
        retiredAt: time.nullable(),
        removeAt: time.nullable().meta({ description: 'When a retired key is to be removed.' }),
        revokedAt: time.nullable(),
        revokedReason: z.string().nullable(),
      }),
    ),
    nextCursor: z.null(),
  }),
)

/** The whole ring in one page: it never grows large. */
export const keysEndpoint = ({ keyRing }: AuthServices) =>
  defineEndpoint({
    method: 'GET',
    path: '/keys',
    id: 'getKeyStatus',
    summary: 'Read the state of the key ring',
    description: 'Needs the right `key.read`. Operators change the ring by `npm run ops -- keys`.',
    tag: 'keys',
    query: noParameters,
    right: 'key.read',
    success: { description: 'Every key, removed ones too.' },
    response,
    handle: () => ({ body: { items: keyRing.status(), nextCursor: null } }),
  })
