import * as z from 'zod'
import { algOfUse, type KeyEntry, type KeyUse } from '../../key-ring/keyring-file.ts'

const documents: readonly (readonly [KeyUse, string])[] = [
  ['jwt', '/.well-known/jwks.json'],
  ['key-signed', '/.well-known/key-signed-keys.json'],
]

const jwkSet = z.object({ keys: z.array(z.object({ kid: z.string(), alg: z.string() })) })

/** Compares the key ring with the keys that a running server publishes. Each difference is a sentence. */
export async function publishedDifferences(
  keys: readonly KeyEntry[],
  { authUrl, fetch }: { authUrl: string; fetch: typeof globalThis.fetch },
): Promise<string[]> {
  const found = await Promise.all(
    documents.map(async ([use, path]) => {
      const published = await readDocument(authUrl + path, fetch)
      if (!published) return [`${authUrl}${path} cannot be read`]
      const expected = keys.filter((key) => key.use === use && key.state !== 'removed').map(({ kid }) => kid)
      const kids = published.map(({ kid }) => kid)
      return [
        ...expected.filter((kid) => !kids.includes(kid)).map((kid) => `${kid} is in the ring, and ${path} lacks it`),
        ...kids.filter((kid) => !expected.includes(kid)).map((kid) => `${path} has ${kid}, which is not in the ring`),
        ...published.filter(({ alg }) => alg !== algOfUse[use]).map(({ kid }) => `${path} has ${kid} with another alg`),
      ]
    }),
  )
  return found.flat()
}

async function readDocument(url: string, fetch: typeof globalThis.fetch) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000), redirect: 'error' })
    return response.ok ? jwkSet.safeParse(await response.json()).data?.keys : undefined
  } catch {
    return undefined
  }
}
