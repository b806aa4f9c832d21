/**
 * Writes `signed-requests.json`: `node --import tsx test/vectors/make-signed-requests.ts`. Nothing of the servers' own
 * code makes the strings to sign.
 */
import { writeFileSync } from 'node:fs'
import { signedInFields } from './signed-in-fields.ts'
import { signedInQuery } from './signed-in-query.ts'
import type { SignedRequestVectors } from './signed-request-vectors.ts'
import { file, keys, now } from './signing-keys.ts'

const vectors: SignedRequestVectors = {
  description: 'Signed requests: in the query, and by RFC 9421. See docs/signed-requests.md.',
  now,
  ttlSeconds: 300,
  origin: 'https://deals.example',
  audience: 'deals',
  keys,
  vectors: [...signedInQuery, ...signedInFields],
}
writeFileSync(file, `${JSON.stringify(vectors, null, 2)}\n`)
