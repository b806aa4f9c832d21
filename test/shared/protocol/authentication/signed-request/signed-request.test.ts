import { describe, expect, it, vi } from 'vitest'
import type { HttpRequest } from '../../../../../shared/platform/http/request.ts'
import { ProblemError, Unavailable } from '../../../../../shared/platform/problems/errors.ts'
import type { Scheme, VerifiedCredential } from '../../../../../shared/protocol/authentication/scheme.ts'
import { maxSignatureTtlSeconds } from '../../../../../shared/protocol/authentication/signature-parameters.ts'
import {
  createSignedRequestScheme,
  type SignedRequestPorts,
} from '../../../../../shared/protocol/authentication/signed-request/signed-request.ts'
import {
  type SigningKey,
  signingKeyOf,
} from '../../../../../shared/protocol/authentication/signed-request/signing-key.ts'
import { type PlainRequest, plainRequest } from '../../../../support/clients/plain-request.ts'
import { canonical, signText } from '../../../../support/clients/signing.ts'
import { readSignedRequestVectors } from '../../../../vectors/signed-request-vectors.ts'

const { keys, vectors, now, ttlSeconds, origin, audience } = readSignedRequestVectors()

const stored = new Map<string, SigningKey>(
  keys.map(({ id, kind, requireBodyHash, secret, publicKeyPem }) => [
    id,
    signingKeyOf({
      id,
      kind,
      requireBodyHash,
      secret: secret ?? null,
      publicKeyPem: publicKeyPem ?? null,
      username: 'alice',
      userId: 'u1',
      version: 1,
      rights: null,
      expiresAt: null,
      former: null,
    }),
  ]),
)

function scheme(changes: Partial<SignedRequestPorts> = {}) {
  return createSignedRequestScheme({
    findKey: async (id) => stored.get(id),
    noteUse: () => undefined,
    use: async () => undefined,
    clock: { now: () => now * 1000, monotonic: () => 0 },
    ttlSeconds,
    publicOrigin: origin,
    audience,
    ...changes,
  })
}

const find = ({ place }: Scheme, call: HttpRequest) => ('find' in place ? place.find(call) : undefined)

async function verify(request: PlainRequest, changes: Partial<SignedRequestPorts> = {}): Promise<VerifiedCredential> {
  const made = scheme(changes)
  const call = plainRequest(request)
  const found = find(made, call)
  if (found === undefined) throw new Error('no credential was found')
  return made.verify(found, call)
}

const outcomeOf = (request: PlainRequest, changes?: Partial<SignedRequestPorts>): Promise<string> =>
  verify(request, changes).then(
    () => 'accepted',
    (error: unknown) => (error instanceof ProblemError ? error.code : String(error)),
  )

const [first] = keys
if (!first) throw new Error('the vectors have keys')

/** A signed target whose parameters are these. */
const target = (parameters: readonly (readonly [string, string])[], key = first): string => {
  const all = [...parameters, ['timestamp', String(now)], ['apiKey', key.id]] as const
  const signature = signText(key, canonical('/path', all))
  return `/path?${new URLSearchParams([...all.map(([name, value]): [string, string] => [name, value]), ['signature', signature]])}`
}

describe('the vectors', () => {
  it.each(vectors)('$name', async ({ outcome, name: _name, signed: _signed, ...request }) => {
    expect(await outcomeOf(request)).toBe(outcome)
  })

  it.each(vectors.filter(({ outcome }) => outcome === 'accepted'))(
    '$name: no octet of the signature may change',
    async ({ name: _name, signed: _signed, outcome: _outcome, ...request }) => {
      const flip = (text: string) => text.replace(/[0-9a-f]$/, (digit) => (digit === '0' ? '1' : '0'))
      const fields = (value: string) => value.replace(/:(.)/, (_, char: string) => (char === 'A' ? ':B' : ':A'))
      const { signature } = request.headers
      const changed = signature
        ? { ...request, headers: { ...request.headers, signature: fields(signature) } }
        : { ...request, target: flip(request.target) }
      expect(await outcomeOf(changed)).toBe('invalid-signature')
    },
  )
})

describe('a service other than the pair', () => {
  it('demands that a signature says which service it is for', async () => {
    for (const { name, outcome, signed, ...request } of vectors.filter(({ outcome }) => outcome === 'accepted')) {
      const isNamed = /[?&]audience=|"@authority":|"@target-uri":/.test(signed)
      const expected = isNamed ? outcome : 'signature-audience-required'
      expect([name, await outcomeOf(request, { demandsAudience: true })]).toEqual([name, expected])
    }
  })
})

describe('a credential', () => {
  const get = { method: 'GET', target: target([]) }
  const withKey = (changes: Partial<SigningKey>): Partial<SignedRequestPorts> => ({
    findKey: async (id) => ({ ...(stored.get(id) as SigningKey), ...changes }),
  })

  it('is found by any part of a signature, in any case of letters', () => {
    const form = (request: PlainRequest) => find(scheme(), plainRequest(request))
    for (const query of ['signature=', 'SIGNATURE', 'apikey=1', 'x=1&apiKEY', '%73ignature=1', '%41PIKEY=1']) {
      expect(form({ method: 'GET', target: `/?${query}` })).toBe('query')
    }
    expect(form({ method: 'GET', target: '/', headers: { signature: '' } })).toBe('fields')
    expect(form({ method: 'GET', target: '/', headers: { 'signature-input': 'x' } })).toBe('fields')
    for (const query of ['timestamp=1', 'nonce=1&method=GET', 'x=signature', '']) {
      expect(form({ method: 'GET', target: `/?${query}` })).toBeUndefined()
    }
    expect(() => form({ ...get, headers: { signature: 'x' } })).toThrow(
      expect.objectContaining({ code: 'several-credentials' }),
    )
  })

  it('is the key: its owner, its id, its expiry, its rights', async () => {
    const expiresAt = (now + 5) * 1000
    const { recheck, ...rest } = await verify(get, withKey({ rights: ['deal.read'], expiresAt }))
    expect(rest).toEqual({
      username: 'alice',
      loginId: first.id,
      generation: undefined,
      expiresAt,
      rights: ['deal.read'],
      signature: undefined,
    })
    await recheck?.()
  })

  it('ends with its key while an answer goes on', async () => {
    let isThere = true
    const findKey = async (id: string) => (isThere ? stored.get(id) : undefined)
    const { recheck } = await verify(get, { findKey })
    isThere = false
    await expect(recheck?.()).rejects.toMatchObject({ code: 'login-ended' })
  })

  it('is refused in one way for a key that is not there, has expired, is of another kind, or another one', async () => {
    const [, other, rsa] = keys
    if (!other || !rsa) throw new Error('the vectors have three keys')
    const swapped = (id: string) => target([]).replace(first.id, id)
    const refusals = await Promise.all(
      [
        verify(get, { findKey: async () => undefined }),
        verify(get, withKey({ expiresAt: now * 1000 })),
        verify({ method: 'GET', target: swapped(other.id) }),
        verify({ method: 'GET', target: swapped(rsa.id) }),
        verify({ method: 'GET', target: target([], rsa).replace(rsa.id, first.id) }),
        verify({ method: 'GET', target: target([]).replace(/signature=.*/, 'signature=00') }),
      ].map((one) => one.then(String, (error: ProblemError) => ({ ...error, message: error.message }))),
    )
    for (const refusal of refusals) expect(refusal).toEqual(refusals[0])
    expect(refusals[0]).toMatchObject({ code: 'invalid-signature', members: { serverTime: now } })
  })

  it.each(['signature=', 'signature=xyz', 'signature=123', `apiKey=&signature=00`, `apiKey=${'x'.repeat(65)}`])(
    'is refused without all of its parts: %s',
    async (query) => {
      const request = { method: 'GET', target: `/path?timestamp=${now}&${query}` }
      expect(await outcomeOf(request)).toBe('invalid-signature')
    },
  )

  it.each([
    { 'signature-input': 'a=("@method" "@path");created=1;keyid="k"' },
    { signature: 'a=:AAAA:' },
    { 'signature-input': 'a=("@method")', signature: 'b=:AAAA:' },
    { 'signature-input': 'a=("@method")', signature: 'a="AAAA"' },
    { 'signature-input': 'a="@method"', signature: 'a=:AAAA:' },
    { 'signature-input': 'a=(1 2)', signature: 'a=:AAAA:' },
    { 'signature-input': 'a=(@method)', signature: 'a=:AAAA:' },
    { 'signature-input': '((', signature: '))' },
    { 'signature-input': 'a=("@method" "@path" "X-Upper");created=1;keyid="k"', signature: 'a=:AAAA:' },
    { 'signature-input': 'a=("@method" "@path" "@query-param");created=1;keyid="k"', signature: 'a=:AAAA:' },
    { 'signature-input': 'a=("@method" "@path" "constructor");created=1;keyid="k"', signature: 'a=:AAAA:' },
    { 'signature-input': 'a=("@method" "@path");created=1.5;keyid="k"', signature: 'a=:AAAA:' },
    { 'signature-input': 'a=("@method" "@path");created=1;keyid=k', signature: 'a=:AAAA:' },
    { 'signature-input': 'a=("@method" "@path");created=1;keyid="k";expires="x"', signature: 'a=:AAAA:' },
  ])('is refused in header fields of no such form: %j', async (headers) => {
    expect(await outcomeOf({ method: 'GET', target: '/path', headers: headers as Record<string, string> })).toBe(
      'invalid-signature',
    )
  })

  it('covers 32 components at most, whatever they are, and no parameter that is there twice', async () => {
    const covering = (count: number, more = '') => {
      const names = Array.from({ length: count }, (_, index) => `k${index}`)
      const components = ['"@method"', '"@target-uri"', ...names.map((name) => `"@query-param";name="${name}"`)]
      const parameters = `(${components.join(' ')});created=${now};keyid="${first.id}"`
      const path = `/path?${names.map((name) => `${name}=%C3%A9`).join('&')}${more}`
      const base = [
        '"@method": GET',
        `"@target-uri": ${origin}${path}`,
        ...names.map((name) => `"@query-param";name="${name}": %C3%A9`),
        `"@signature-params": ${parameters}`,
      ].join('\n')
      const signature = Buffer.from(signText(first, base), 'hex').toString('base64')
      return {
        method: 'GET',
        target: path,
        headers: { 'signature-input': `a=${parameters}`, signature: `a=:${signature}:` },
      }
    }
    expect(await outcomeOf(covering(30))).toBe('accepted')
    expect(await outcomeOf(covering(31))).toBe('invalid-signature')
    expect(await outcomeOf(covering(1, '&k1=x'))).toBe('accepted')
    expect(await outcomeOf(covering(1, '&k0=x'))).toBe('invalid-signature')
  })

  it('is one: two signatures are several credentials', async () => {
    const headers = { 'signature-input': 'a=("@method" "@path"), b=("@method")', signature: 'a=:AAAA:, b=:AAAA:' }
    expect(await outcomeOf({ method: 'GET', target: '/path', headers })).toBe('several-credentials')
  })
})

describe('a use', () => {
  const post = { method: 'POST', target: target([['method', 'POST']]) }

  it('is written down for unsafe methods only, until no server accepts the signature by any SIGNATURE_TTL', async () => {
    const use = vi.fn(async () => undefined)
    await verify({ method: 'GET', target: target([]) }, { use })
    expect(use).not.toHaveBeenCalled()
    const { signature } = await verify(post, { use })
    const expiresAt = (now + maxSignatureTtlSeconds + 60) * 1000
    expect(use).toHaveBeenCalledExactlyOnceWith({ keyId: first.id, digest: signature?.digest, expiresAt })
    expect(signature).toMatchObject({ isReused: false, digest: expect.stringMatching(/^[\w-]{43}$/) })
  })

  it('is remembered when SIGNATURE_TTL is raised after it, as far as that can be', async () => {
    let time = now * 1000
    const clock = { now: () => time, monotonic: () => 0 }
    const remembered = new Map<string, number>()
    /** Forgets, as the housekeeping does, what has expired. */
    const use: SignedRequestPorts['use'] = async ({ digest, expiresAt }) => {
      const isKnown = (remembered.get(digest) ?? 0) > time
      if (!isKnown) remembered.set(digest, expiresAt)
      return isKnown ? 5 : undefined
    }
    expect((await verify(post, { use, clock, ttlSeconds: 1 })).signature?.isReused).toBe(false)
    time += (maxSignatureTtlSeconds - 1) * 1000
    const raised = { use, clock, ttlSeconds: maxSignatureTtlSeconds }
    expect((await verify(post, raised)).signature?.isReused).toBe(true)
    time += 2_000
    expect(await outcomeOf(post, raised)).toBe('signature-too-old')
  })

  it('is told apart from the first one', async () => {
    const { signature } = await verify(post, { use: async () => 5 })
    expect(signature).toMatchObject({ isReused: true, usedAt: 5 })
  })

  it('is no other for being spelt in capitals', async () => {
    const digests = await Promise.all(
      [post.target, post.target.replace(/(?<=signature=).*/, (hex) => hex.toUpperCase())].map(
        async (one) => (await verify({ ...post, target: one })).signature?.digest,
      ),
    )
    expect(digests[0]).toBe(digests[1])
  })

  it('is not written down for what is refused', async () => {
    const use = vi.fn(async () => undefined)
    const forged = { ...post, target: post.target.replace('/path', '/other') }
    expect(await outcomeOf(forged, { use })).toBe('invalid-signature')
    expect(await outcomeOf({ method: 'POST', target: target([]) }, { use })).toBe('signature-method-required')
    expect(use).not.toHaveBeenCalled()
  })

  it('does not happen without the database: nobody could tell', async () => {
    const use = () => Promise.reject(new Unavailable('database'))
    await expect(verify(post, { use })).rejects.toThrow(Unavailable)
    expect(await outcomeOf({ method: 'GET', target: target([]) }, { use })).toBe('accepted')
  })
})
