/**
 * The authentication schemes of the deal server: who fulfils their ports. Caches first, then the auth server; nothing of a credential is
 * ever kept on disk. `server.ts` mounts what comes out.
 */
import type { Cache } from '../shared/platform/cache/cache.ts'
import type { Clock } from '../shared/platform/clock.ts'
import type { Database } from '../shared/platform/database/database.ts'
import type { IdSource } from '../shared/platform/ids.ts'
import { rememberVerifiedTokens } from '../shared/protocol/access-token/verified-token-cache.ts'
import { createAccessTokenVerifier } from '../shared/protocol/access-token/verify-access-token.ts'
import type { Principals } from '../shared/protocol/authentication/authenticate.ts'
import { createBasicScheme } from '../shared/protocol/authentication/basic/basic.ts'
import { holdPasswords } from '../shared/protocol/authentication/basic/cached-passwords.ts'
import { createBearerScheme } from '../shared/protocol/authentication/bearer/bearer.ts'
import { createDigestScheme } from '../shared/protocol/authentication/digest/digest.ts'
import { createDigestCounts } from '../shared/protocol/authentication/digest/digest-counts.ts'
import { createDigestNonces } from '../shared/protocol/authentication/digest/digest-nonce.ts'
import { createKeySignedScheme } from '../shared/protocol/authentication/key-signed/key-signed.ts'
import { createTokenPasswords } from '../shared/protocol/authentication/key-signed/key-signed-password.ts'
import type { Scheme, SchemeName } from '../shared/protocol/authentication/scheme.ts'
import { createSessionScheme, type Sessions } from '../shared/protocol/authentication/session/session.ts'
import { createSessionCookie } from '../shared/protocol/authentication/session/session-cookie.ts'
import { createSignedRequestScheme } from '../shared/protocol/authentication/signed-request/signed-request.ts'
import type { UseSignature } from '../shared/protocol/authentication/signed-request/used-signatures.ts'
import { createKeySignedVerifier } from '../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { type NoteRefusal, notingRefusals } from '../shared/protocol/login-throttle/limit-refusals.ts'
import type { Guesses } from '../shared/protocol/login-throttle/login-throttle.ts'
import type { WithHashingPermit } from '../shared/protocol/passwords/hashing-permits.ts'
import type { ApiKeyStore } from './auth-client/api-key-store.ts'
import { askForPasswords } from './auth-client/ask-for-passwords.ts'
import type { AuthClient } from './auth-client/auth-client.ts'
import { followDigestSecrets } from './auth-client/digest-secrets.ts'
import type { KeyStores } from './auth-client/key-stores.ts'
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
