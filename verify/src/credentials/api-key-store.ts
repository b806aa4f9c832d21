/** The API keys that verify signed requests. They come from the auth server and are cached in memory only. */

import type { Clock } from '../../../shared/platform/clock.ts'
import { openInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { isId } from '../../../shared/platform/ids.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Traced } from '../../../shared/platform/trace-context.ts'
import type { Principals } from '../../../shared/protocol/authentication/authenticate.ts'
import { createCredentialCache, type OfUser } from '../../../shared/protocol/authentication/credential-cache.ts'
import { reportUses } from '../../../shared/protocol/authentication/signed-request/report-uses.ts'
import { type SigningKey, signingKeyOf } from '../../../shared/protocol/authentication/signed-request/signing-key.ts'
import {
  apiKeyExchange,
  apiKeySecretPurpose,
  apiKeyUsedExchange,
} from '../../../shared/protocol/internal-api/api-key.ts'
import { questionOf } from '../../../shared/protocol/internal-api/exchange.ts'
import type { FollowingSystems } from '../auth-client/auth-client.ts'

/** Finds API keys, and reports their use. */
export type ApiKeyStore = ReturnType<typeof createApiKeyStore>

const cacheBounds = { maxEntries: 10_000, maxBytes: 32_000_000 }

/** What keys are remembered with. */
interface RememberedKeys<Key> {
  readonly principals: Principals
  readonly clock: Clock
  /** Reads a key; undefined for an unknown or revoked one. @throws Unavailable */
  readonly load: (id: string, traceContext: Traced | undefined) => Promise<Key | undefined>
  /** As that of the cache of credentials. */
  readonly unknownForMs?: number
}

/** Remembers keys, each while its owner does not change. */
export function rememberKeys<Key extends OfUser>({ load, ...ports }: RememberedKeys<Key>) {
  const held = createCredentialCache<Key>({ ...ports, ...cacheBounds })
  return {
    /** The key of this id, if it is known at once. */
    peek: held.peek,
    /** The key of this id; undefined for an unknown or revoked key. @throws Unavailable */
    find: async (id: string, traceContext?: Traced): Promise<Key | undefined> => {
      if (!isId(id)) return undefined
      return held.peek(id, traceContext) ?? held.get(id, () => load(id, traceContext), traceContext)
    },
  }
}

/** Makes an empty store. */
export function createApiKeyStore(systems: FollowingSystems, principals: Principals) {
  const { authClient, clock } = systems
  const load = (id: string, traceContext: Traced | undefined) => loadKey(id, systems, traceContext)
  const { find } = rememberKeys({ principals, clock, load })
  const report = async (id: string) => {
    await authClient.ask(questionOf(apiKeyUsedExchange, { path: { id }, body: undefined }))
  }
  return {
    find,
    /** Reports to the auth server that the key was used: in the background, at most once a minute for each key. */
    noteUse: reportUses(report, systems),
  }
}

async function loadKey(
  id: string,
  { authClient, serviceSecret }: FollowingSystems,
  traceContext: Traced | undefined,
): Promise<SigningKey | undefined> {
  const question = questionOf(apiKeyExchange, { path: { id }, body: undefined })
  const { status, body } = await authClient.ask({ ...question, traceContext })
  if (status === 404) return undefined
  const answer = status === 200 ? apiKeyExchange.responseBody.safeParse(body) : undefined
  if (!answer?.success) {
    throw new Unavailable('auth-server', { cause: new Error(`/internal/api-keys answered ${status}`) })
  }
  const { former, ...key } = answer.data
  const opened = <Material extends { readonly secretSealed: string | null }>({ secretSealed, ...rest }: Material) => ({
    ...rest,
    secret: secretSealed === null ? null : openSecret(id, secretSealed, serviceSecret),
  })
  return signingKeyOf({ ...opened(key), former: former && opened(former) })
}

/** Decrypts the secret of a key. @throws Unavailable when it was encrypted with another service secret */
function openSecret(id: string, sealed: string, serviceSecret: string): string {
  const opened = openInternally(sealed, { secrets: [serviceSecret], purpose: apiKeySecretPurpose(id) })
  if (opened !== undefined) return opened
  throw new Unavailable('auth-server', { cause: new Error('the secret of an API key could not be opened') })
}
