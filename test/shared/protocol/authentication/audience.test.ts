import { describe, expect, it } from 'vitest'
import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import type { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import {
  type Audience,
  createAudience,
  isAudience,
  type NamedAudience,
} from '../../../../shared/protocol/authentication/audience.ts'
import { createAuthentication } from '../../../../shared/protocol/authentication/authenticate.ts'
import { createBearerScheme } from '../../../../shared/protocol/authentication/bearer/bearer.ts'
import { createKeySignedScheme } from '../../../../shared/protocol/authentication/key-signed/key-signed.ts'
import type { Scheme, SchemeName } from '../../../../shared/protocol/authentication/scheme.ts'
import { createSessionScheme } from '../../../../shared/protocol/authentication/session/session.ts'
import { audienceDigest } from '../../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import type { PrincipalRecord } from '../../../../shared/protocol/principal/record.ts'
import { plainRequest } from '../../../support/clients/plain-request.ts'

const pair = createAudience('deals', { isOfPair: true })
const renamedPair = createAudience('https://deals.example', { isOfPair: true })
const invoices = createAudience('urn:example:invoices', { isOfPair: false })
const digestText = audienceDigest('deals').toString('hex')

describe('an audience', () => {
  it.each<[string, Audience, NamedAudience, boolean]>([
    ['the name', pair, 'deals', true],
    ['another name', pair, 'urn:example:invoices', false],
    ['the name in other letters', pair, 'Deals', false],
    ['a name that only begins like it', pair, 'deals/', false],
    ['several names, this one among them', invoices, ['deals', 'urn:example:invoices'], true],
    ['several other names', pair, ['urn:example:invoices', 'Deals'], false],
    ['no name', pair, [], false],
    ['the digest', invoices, audienceDigest('urn:example:invoices'), true],
    ['the digest of another', pair, audienceDigest('urn:example:invoices'), false],
    ['the digest, as a name', pair, digestText, false],
    ['a part of the digest', pair, audienceDigest('deals').subarray(0, 15), false],
    ['nothing, which means the pair', pair, null, true],
    ['nothing, whatever the name of the pair', renamedPair, null, true],
    ['the former name of the pair', renamedPair, 'deals', false],
    ['nothing, at another service', invoices, null, false],
  ])('is told by %s', (_how, own, named, expected) => {
    expect(isAudience(own, named)).toBe(expected)
  })
})

const record: PrincipalRecord = {
  username: 'alice',
  userId: 'user',
  enabled: true,
  roles: [],
  rights: ['deal.read'],
  generation: 1,
  keptLogin: null,
  revokedIds: [],
  version: 1,
}
const expiresAt = 2_000_000_000
const key = 'k'.repeat(43)

/** The schemes whose credentials have an audience, as they verify a right credential for this one. */
function schemesOf(named: string | null): Scheme[] {
  const token = { iss: 'i', client_id: 'c', sid: 's', jti: 'j', iat: 0, exp: expiresAt }
  const claims = { ...token, sub: 'alice', gen: 1, aud: named ?? 'deals' }
  const keySigned = { iat: 0, exp: expiresAt, jti: 'j', gen: 1, sub: 'alice', address: null, passwordHash: null }
  const audience = named === null ? null : audienceDigest(named)
  const session = { id: 's', username: 'alice', userId: 'user', version: 1, generation: 1, audience: named }
  const found = { ...session, lastUsedAt: 0, expiresAt: expiresAt * 1000 }
  const findKey = async () => false
  return [
    createBearerScheme({ verify: () => ({ ok: true, kid: 'k', claims }), findKey }),
    createKeySignedScheme({
      verify: () => ({ ok: true, kid: 'k', claims: { ...keySigned, audience } }),
      findKey,
      passwords: { isRight: () => true },
    }),
    createSessionScheme({
      cookie: { read: () => [key], set: () => '', expire: () => 'forgotten' },
      sessions: { use: () => found, look: async () => found },
    }),
  ]
}

const requests: Partial<Record<SchemeName, Record<string, string>>> = {
  bearer: { authorization: 'Bearer token' },
  'key-signed': { authorization: 'KeySigned token' },
  session: {},
}

const requestOf = (name: SchemeName): HttpRequest =>
  plainRequest({ method: 'GET', target: '/', headers: requests[name] ?? {} })

const authenticateAt = (audience: Audience, scheme: Scheme) =>
  createAuthentication({
    schemes: [scheme],
    audience,
    principals: { get: () => record },
    refuseCrossSite: () => undefined,
    clock: { now: () => 0, monotonic: () => 0 },
  }).authenticate(requestOf(scheme.name))

const services = { pair, invoices, archive: createAudience('urn:example:archive', { isOfPair: false }) }
const issued = {
  pair: null,
  invoices: 'urn:example:invoices',
  archive: 'urn:example:archive',
  gone: 'urn:example:gone',
}

describe.each(Object.entries(issued))('a credential for %s', (audience, named) => {
  it.each(schemesOf(named))('is accepted by its own service and by no other: $name', async (scheme) => {
    for (const [service, own] of Object.entries(services)) {
      const outcome = await authenticateAt(own, scheme).then(
        ({ username }) => username,
        (error: ProblemError) => error.code,
      )
      expect({ service, outcome }).toEqual({ service, outcome: service === audience ? 'alice' : 'wrong-audience' })
    }
  })
})

describe('the refusal', () => {
  it.each([
    ['bearer', { 'www-authenticate': ['Bearer realm="keyhold", error="invalid_token"'] }],
    ['key-signed', { 'www-authenticate': ['KeySigned realm="keyhold"'] }],
    // The session is good elsewhere under this host name: the browser keeps its cookie.
    ['session', {}],
  ])('has the challenge of the scheme: %s', async (name, headers) => {
    const [scheme] = schemesOf('urn:example:invoices').filter((one) => one.name === name)
    if (!scheme) throw new Error('no such scheme')
    const refusal = { code: 'wrong-audience', headers, message: expect.stringContaining('deals') }
    await expect(authenticateAt(pair, scheme)).rejects.toMatchObject(refusal)
    await expect(authenticateAt(pair, scheme)).rejects.toHaveProperty('headers', headers)
  })
})
