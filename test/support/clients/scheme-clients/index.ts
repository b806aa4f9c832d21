import { basicClient } from './basic.ts'
import { bearerClient } from './bearer.ts'
import { digestClient } from './digest.ts'
import { keySignedClient } from './key-signed.ts'
import type { SchemeClient } from './scheme-client.ts'
import { sessionClient } from './session.ts'
import { signedRequestClient } from './signed-request.ts'

/** A client of every scheme. A new scheme is one more entry. */
export const schemeClients: readonly SchemeClient[] = [
  bearerClient,
  keySignedClient,
  signedRequestClient,
  sessionClient,
  basicClient,
  digestClient,
]
