/**
 * The authentication schemes of the deal server: who fulfils their ports. Caches first, then the auth server; nothing of a credential is
 * ever kept on disk. `server.ts` mounts what comes out.
 */
import type { Cache } from '../shared/cache/cache.ts'
import type { Clock } from '../shared/clock.ts'
import type { Database } from '../shared/database/database.ts'
import type { IdSource } from '../shared/ids.ts'
import type { Guesses } from '../shared/limits/guesses.ts'
import { type NoteRefusal, notingRefusals } from '../shared/limits/limit-refusals.ts'
import type { WithHashingPermit } from '../shared/passwords/hashing-permits.ts'
import type { Principals } from '../shared/schemes/authenticate.ts'
import { createBasicScheme } from '../shared/schemes/basic.ts'
import { createBearerScheme } from '../shared/schemes/bearer.ts'
import { createDigestScheme } from '../shared/schemes/digest.ts'
import { createDigestCounts } from '../shared/schemes/digest-counts.ts'
import { createDigestNonces } from '../shared/schemes/digest-nonce.ts'
import { holdPasswords } from '../shared/schemes/held-passwords.ts'
import { createKeySignedScheme } from '../shared/schemes/key-signed.ts'
import { createTokenPasswords } from '../shared/schemes/key-signed-password.ts'
import type { Scheme, SchemeName } from '../shared/schemes/scheme.ts'
import { createSessionScheme, type Sessions } from '../shared/schemes/session.ts'
import { createSessionCookie } from '../shared/schemes/session-cookie.ts'
import { createSignedRequestScheme } from '../shared/schemes/signed-request.ts'
import type { UseSignature } from '../shared/schemes/used-signatures.ts'
import { rememberVerifiedTokens } from '../shared/tokens/verified-token-cache.ts'
import { createAccessTokenVerifier } from '../shared/tokens/verify-access-token.ts'
import { createKeySignedVerifier } from '../shared/tokens/verify-key-signed-token.ts'
import type { ApiKeyStore } from './access/api-key-store.ts'
import { askForPasswords } from './access/ask-for-passwords.ts'
import type { AuthClient } from './access/auth-client.ts'
import { followDigestSecrets } from './access/digest-secrets.ts'
import type { KeyStores } from './access/key-stores.ts'
import type { DealConfig } from './config.ts'

/** What the schemes rest on. */
export interface DealSchemePorts {
  readonly sessions: Sessions
  readonly keys: KeyStores
  readonly guesses: Guesses
  readonly noteRefusal: NoteRefusal
  readonly apiKeys: ApiKeyStore
  readonly useSignature: UseSignature
  readonly withPermit: WithHashingPermit
  readonly clock: Clock
  readonly principals: Principals
  readonly authClient: AuthClient
  /** SERVICE_SECRET. */
  readonly serviceSecret: string
  readonly cache: Cache
  readonly database: Database
  readonly ids: IdSource
}

/** The enabled schemes (AUTH_SCHEMES). */
export function createDealSchemes(config: DealConfig, ports: DealSchemePorts): Scheme[] {
  const { clock } = ports
  const keys = ports.keys.jwt
  const { issuer, audience } = config
  const verify = createAccessTokenVerifier({ keys, issuer, audience, clock })
  const makers: Partial<Record<SchemeName, () => Scheme>> = {
    bearer: () =>
      createBearerScheme({ verify: rememberVerifiedTokens(verify, { keys, clock }), findKey: keys.findKey }),
    'key-signed': () => keySigned(ports),
    basic: () => basic(ports),
    session: () => createSessionScheme({ cookie: createSessionCookie(config), sessions: ports.sessions }),
    'signed-request': () => signedRequest(config, ports),
    digest: () => digest(config, ports),
  }
  return config.schemes.flatMap((name) => makers[name]?.() ?? [])
}

/** The auth server counts what it checks; what is answered from memory counts here. */
const basic = (ports: DealSchemePorts): Scheme => {
  const guesses = notingRefusals(ports.guesses, 'basic', ports.noteRefusal)
  return createBasicScheme(holdPasswords({ ...ports, guesses, verify: askForPasswords(ports) }))
}

function keySigned({ keys: { keySigned: keys }, clock, withPermit, ...ports }: DealSchemePorts): Scheme {
  const verify = rememberVerifiedTokens(createKeySignedVerifier({ keys, clock }), { keys, clock })
  const guesses = notingRefusals(ports.guesses, 'key-signed', ports.noteRefusal)
  const passwords = createTokenPasswords({ withPermit, guesses, clock })
  return createKeySignedScheme({ verify, findKey: keys.findKey, passwords })
}

const signedRequest = (config: DealConfig, { apiKeys, useSignature: use, clock }: DealSchemePorts): Scheme =>
  createSignedRequestScheme({
    findKey: apiKeys.find,
    noteUse: apiKeys.noteUse,
    use,
    clock,
    ttlSeconds: config.signatureTtlSeconds,
    publicOrigin: config.publicOrigin,
  })

function digest(config: DealConfig, ports: DealSchemePorts): Scheme {
  return createDigestScheme({
    ...ports,
    ...followDigestSecrets(ports),
    nonces: createDigestNonces({ ...ports, secrets: config.serviceSecrets ?? [ports.serviceSecret] }),
    counts: createDigestCounts({ ...ports, schema: 'deals' }),
    guesses: notingRefusals(ports.guesses, 'digest', ports.noteRefusal),
    origin: config.publicOrigin,
  })
}
