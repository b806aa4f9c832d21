import { createKeyhold, type Keyhold } from '../../../client/src/index.ts'
import type { KeyEntry, KeyUse } from '../../key-ring/keyring-file.ts'

const documents = [
  ['jwt', '/.well-known/jwks.json'],
  ['key-signed', '/.well-known/key-signed-keys.json'],
] as const satisfies readonly (readonly [KeyUse, string])[]

/** Compares the key ring with the keys that a running server publishes. Each difference is a sentence. */
export async function publishedDifferences(
  keys: readonly KeyEntry[],
  { authUrl, fetch }: { authUrl: string; fetch: typeof globalThis.fetch },
): Promise<string[]> {
  const { auth } = createKeyhold({ authUrl, dealUrl: authUrl, fetch, retries: 0, timeoutMs: 5_000 })
  const found = await Promise.all(
    documents.map(async ([use, path]) => {
      const published = await readDocument(auth, path)
      if (!published) return [`${authUrl}${path} cannot be read`]
      const ofUse = keys.filter((key) => key.use === use && key.state !== 'removed')
      const expected = ofUse.map(({ kid }) => kid)
      const kids = published.map(({ kid }) => kid)
      const otherAlgs = published.filter(({ kid, alg }) => ofUse.some((key) => key.kid === kid && key.alg !== alg))
      return [
        ...expected.filter((kid) => !kids.includes(kid)).map((kid) => `${kid} is in the ring, and ${path} lacks it`),
        ...kids.filter((kid) => !expected.includes(kid)).map((kid) => `${path} has ${kid}, which is not in the ring`),
        ...otherAlgs.map(({ kid }) => `${path} has ${kid} with another alg`),
      ]
    }),
  )
  return found.flat()
}

/** Undefined for whatever is no such document: the server is another one, or away. */
async function readDocument(auth: Keyhold['auth'], path: (typeof documents)[number][1]) {
  try {
    const { data } = await auth.GET(path)
    return data.keys.map(({ kid, alg }) => ({ kid, alg }))
  } catch {
    return undefined
  }
}
