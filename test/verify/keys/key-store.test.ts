import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { keySetDigest } from '../../../shared/protocol/internal-api/published-keys.ts'
import { KeyStore } from '../../../verify/src/keys/key-store.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const rsaJwk = (modulusLength: number): JsonWebKey =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' })

const [strong, other, weak] = [rsaJwk(2048), rsaJwk(2048), rsaJwk(1024)]
const usable = (kid: string, jwk = strong) => ({ ...jwk, kid, use: 'sig', alg: 'RS256' })

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
const ed = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })

/** A key store whose auth server answers what the test says; `loads` are the answers it is waiting for. */
function openKeyStore(use: 'jwt' | 'key-signed' = 'jwt') {
  let now = 1_000_000
  const clock = { now: () => now, monotonic: () => now }
  const loads: { answer: (document: unknown) => void; fail: () => void }[] = []
  let started = 0
  const jwks = () => {
    started += 1
    return new Promise<unknown>((resolve, reject) => {
      loads.push({ answer: resolve, fail: () => reject(new Unavailable('auth-server')) })
    })
  }
  const store = new KeyStore(fakeSystems({ authClient: { document: jwks }, clock }), use, () => false)
  const answer = (...keys: unknown[]) => loads.shift()?.answer({ keys })
  return {
    store,
    answer,
    fail: () => loads.shift()?.fail(),
    /** Lets so much time go by, in which what was put off is begun. */
    pass: async (milliseconds: number) => {
      now += milliseconds
      await vi.advanceTimersByTimeAsync(milliseconds)
    },
    started: () => started,
    /** Loads this document, a whole cool-down after whatever came before. */
    load: async (document: unknown) => {
      now += 2_000
      const refreshed = store.refresh()
      loads.shift()?.answer(document)
      return refreshed
    },
  }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('loading', () => {
  it('knows no key before the first load', async () => {
    const { store } = openKeyStore()
    expect(store.key('a')).toBeUndefined()
    expect(store.size()).toBe(0)
  })

  it('keeps the public keys of the document, and removes keys that are no longer in it', async () => {
    const { store, load } = openKeyStore()
    expect(await load({ keys: [usable('a'), usable('b', other)] })).toBe(true)
    expect(store.key('a')?.export({ format: 'jwk' })).toEqual(strong)
    expect(store.key('a')?.type).toBe('public')
    expect(await load({ keys: [usable('b', other)] })).toBe(true)
    expect([store.key('a'), store.size()]).toEqual([undefined, 1])
  })

  it('runs one load at a time for all callers', async () => {
    const { store, answer, started } = openKeyStore()
    const asked = ['a', 'b', 'a', 'b'].map((kid) => store.findKey(kid))
    const refreshed = store.refresh()
    answer(usable('a'), usable('b', other))
    expect(await Promise.all(asked)).toEqual([true, true, true, true])
    expect(await refreshed).toBe(true)
    expect(started()).toBe(1)
  })

  it('loads nothing for a known key', async () => {
    const { store, load, started } = openKeyStore()
    await load({ keys: [usable('a')] })
    expect(await store.findKey('a')).toBe(true)
    expect(started()).toBe(1)
  })

  it('starts no load after it was stopped, even during a load', async () => {
    const { store, fail, started } = openKeyStore()
    store.start()
    await vi.advanceTimersByTimeAsync(500)
    expect(started()).toBe(1)
    store.stop()
    fail()
    await vi.advanceTimersByTimeAsync(600_000)
    expect(started()).toBe(1)
  })

  it('tries again twice a second until it has a key, then every five minutes', async () => {
    const { store, answer, fail, started } = openKeyStore()
    store.start()
    await vi.advanceTimersByTimeAsync(500)
    fail()
    await vi.advanceTimersByTimeAsync(500)
    expect(started()).toBe(2)
    answer(usable('a'))
    await vi.advanceTimersByTimeAsync(299_000)
    expect(started()).toBe(2)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(started()).toBe(3)
    store.stop()
  })
})

describe('an announcement of published keys', () => {
  it('starts a load when the known keys differ, and none when they are the same', async () => {
    const { store, load, started } = openKeyStore()
    await load({ keys: [usable('a')] })
    store.onPublishedKeys(keySetDigest(['a']))
    expect(started()).toBe(1)
    store.onPublishedKeys(keySetDigest(['b']))
    expect(started()).toBe(2)
  })

  it('during a load, which may have begun too early, starts another one right after it', async () => {
    const { store, load, answer, started } = openKeyStore()
    await load({ keys: [usable('a')] })
    const early = store.refresh()
    store.onPublishedKeys(keySetDigest(['b']))
    expect(started()).toBe(2)
    answer(usable('a'))
    await early
    await vi.advanceTimersByTimeAsync(0)
    expect(started()).toBe(3)
    answer(usable('b', other))
    await vi.advanceTimersByTimeAsync(0)
    expect([store.key('a'), store.key('b')?.type, started()]).toEqual([undefined, 'public', 3])
  })

  it('during a load of just these keys, starts no other one', async () => {
    const { store, answer, started } = openKeyStore()
    const underWay = store.refresh()
    store.onPublishedKeys(keySetDigest(['a']))
    answer(usable('a'))
    await underWay
    await vi.advanceTimersByTimeAsync(0)
    expect(started()).toBe(1)
  })
})

/** What happened to a promise so far. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  await vi.advanceTimersByTimeAsync(0)
  const pending = Symbol('pending')
  const settled = await Promise.race([promise.catch((error: unknown) => error), Promise.resolve(pending)])
  return settled === pending ? 'waits' : settled
}

describe('an unknown kid', () => {
  it('is accepted at its first use, also right after a load', async () => {
    const { store, load, answer, pass } = openKeyStore()
    await load({ keys: [usable('a')] })
    const asked = store.findKey('new')
    expect(await stateOf(asked)).toBe('waits')
    await pass(250)
    answer(usable('a'), usable('new', other))
    expect(await asked).toBe(true)
  })

  it('is accepted when it was published while a load was under way', async () => {
    const { store, answer, pass, started } = openKeyStore()
    const underWay = store.refresh()
    const asked = store.findKey('new')
    answer(usable('a'))
    await underWay
    expect(await stateOf(asked)).toBe('waits')
    await pass(250)
    expect(started()).toBe(2)
    answer(usable('a'), usable('new', other))
    expect(await asked).toBe(true)
  })

  it('waits only until the first load that has it, whatever started that load', async () => {
    const { store, load, answer, pass, started } = openKeyStore()
    await load({ keys: [usable('a')] })
    const asked = store.findKey('new')
    void store.refresh()
    answer(usable('a'), usable('new', other))
    expect(await asked).toBe(true)
    await pass(1_000)
    expect(started()).toBe(2)
  })

  it('is refused when a load that began later does not have it', async () => {
    const { store, load, answer, pass } = openKeyStore()
    await load({ keys: [usable('a')] })
    await pass(250)
    const asked = store.findKey('x')
    answer(usable('a'))
    expect(await asked).toBe(false)
  })

  it('costs at most one load in each pause, for any number of kids', async () => {
    const { store, load, answer, pass, started } = openKeyStore()
    await load({ keys: [usable('a')] })
    const asked: Promise<boolean>[] = []
    for (let count = 0; count < 100; count += 1) {
      asked.push(store.findKey(`unknown-${count}`))
      await pass(10)
      answer(usable('a'))
    }
    expect(started()).toBeLessThanOrEqual(5)
    await pass(250)
    answer(usable('a'))
    await pass(250)
    answer(usable('a'))
    expect(new Set(await Promise.all(asked))).toEqual(new Set([false]))
  })

  it('waits with at most a thousand others: more get 503', async () => {
    const { store, load, answer, pass } = openKeyStore()
    await load({ keys: [usable('a')] })
    const asked = Array.from({ length: 1_000 }, (_, at) => store.findKey(`unknown-${at}`))
    await expect(store.findKey('new')).rejects.toThrow(Unavailable)
    await pass(250)
    answer(usable('a'))
    await Promise.all(asked)
    expect(await stateOf(store.findKey('new'))).toBe('waits')
  })

  it('gets 503 while the document cannot be loaded, and costs no more loads', async () => {
    const { store, fail, pass, started } = openKeyStore()
    const first = store.findKey('x')
    await pass(3_000)
    fail()
    await expect(first).rejects.toThrow(Unavailable)
    await expect(store.findKey('y')).rejects.toThrow(Unavailable)
    expect(started()).toBe(1)
    await pass(250)
    void store.findKey('y').catch(() => undefined)
    expect(started()).toBe(2)
  })

  it('is not loaded again for ten seconds after a fresh document did not have it', async () => {
    const { store, answer, load, pass, started } = openKeyStore()
    await load({ keys: [usable('a')] })
    await pass(250)
    const asked = store.findKey('x')
    answer(usable('a'))
    expect(await asked).toBe(false)
    await pass(9_000)
    expect(await store.findKey('x')).toBe(false)
    expect(started()).toBe(2)
    await pass(1_500)
    void store.findKey('x')
    expect(started()).toBe(3)
  })

  it('is refused at once when its key was revoked', async () => {
    const { store, load, started } = openKeyStore()
    await load({ keys: [usable('a'), usable('b', other)] })
    await load({ keys: [usable('b', other)] })
    expect(await store.findKey('a')).toBe(false)
    expect(started()).toBe(2)
  })

  it('is known at once after any load that has it', async () => {
    const { store, answer, load, pass } = openKeyStore()
    const asked = store.findKey('new')
    answer(usable('a'))
    expect(await asked).toBe(false)
    await pass(1)
    await load({ keys: [usable('new')] })
    expect(await store.findKey('new')).toBe(true)
  })

  it('does not wait when the server stops', async () => {
    const { store, load, pass, started } = openKeyStore()
    await load({ keys: [usable('a')] })
    const asked = store.findKey('new')
    store.stop()
    await expect(asked).rejects.toThrow(Unavailable)
    await pass(1_000)
    expect(started()).toBe(1)
  })
})

describe('good keys', () => {
  const bad: Record<string, unknown> = {
    'an empty set': { keys: [] },
    'a set without a usable key': { keys: [usable('w', weak)] },
    'no set': { keys: 'none' },
    'a text': 'garbage',
    nothing: undefined,
    'an array': [usable('a')],
  }

  it.each(Object.keys(bad))('survive %s', async (name) => {
    const { store, load } = openKeyStore()
    await load({ keys: [usable('a')] })
    expect(await load(bad[name])).toBe(false)
    expect(store.key('a')).toBeDefined()
  })

  it('survive an auth server that fails or does not answer in time', async () => {
    const { store, load, fail, pass } = openKeyStore()
    await load({ keys: [usable('a')] })
    await pass(2_000)
    const refreshed = store.refresh()
    fail()
    expect(await refreshed).toBe(false)
    expect(store.key('a')).toBeDefined()
  })
})

describe('keys of each kind', () => {
  const kinds = [
    usable('rsa'),
    { ...ec, kid: 'ec', use: 'sig', alg: 'ES256' },
    { ...ed, kid: 'ed', use: 'sig', alg: 'EdDSA' },
  ]

  it('verify access tokens', async () => {
    const { store, load } = openKeyStore()
    expect(await load({ keys: kinds })).toBe(true)
    expect(['rsa', 'ec', 'ed'].map((kid) => store.key(kid)?.asymmetricKeyType)).toEqual(['rsa', 'ec', 'ed25519'])
  })

  it('are RSA alone for key-signed tokens', async () => {
    const { store, load } = openKeyStore('key-signed')
    const keys = kinds.map((key) => ({ ...key, alg: 'kst1' }))
    expect(await load({ keys: [...keys, usable('jwt', other)] })).toBe(true)
    expect(store.size()).toBe(1)
    expect(store.key('rsa')).toBeDefined()
  })
})

describe('a key is ignored', () => {
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' })
  const unusable: Record<string, unknown> = {
    'that is weaker than 2048 bits': usable('x', weak),
    'for another algorithm': { ...usable('x'), alg: 'RS512' },
    'for PSS': { ...usable('x'), alg: 'PS256' },
    'that names no algorithm': { ...strong, kid: 'x', use: 'sig' },
    'for encryption': { ...usable('x'), use: 'enc' },
    'of another kind': { ...ec, kid: 'x', use: 'sig', alg: 'RS256' },
    'of RSA, for ES256': { ...usable('x'), alg: 'ES256' },
    'of Ed25519, for ES256': { ...ed, kid: 'x', use: 'sig', alg: 'ES256' },
    'on another curve': { ...p384, kid: 'x', use: 'sig', alg: 'ES256' },
    'whose point is not on its curve': { ...ec, y: ec.x, kid: 'x', use: 'sig', alg: 'ES256' },
    'of key-signed tokens': { ...usable('x'), alg: 'kst1' },
    'that is a shared secret': { kty: 'oct', k: 'c2VjcmV0', kid: 'x', use: 'sig', alg: 'RS256' },
    'without a kid': { ...strong, use: 'sig', alg: 'RS256' },
    'with an empty kid': usable(''),
    'with an unusual exponent': { ...usable('x'), e: 'Aw' },
    'without a modulus': { ...usable('x'), n: '' },
    'with a modulus that is none': { ...usable('x'), n: '!!!' },
  }

  it.each(Object.keys(unusable))('%s, and the others count', async (name) => {
    const { store, load } = openKeyStore()
    expect(await load({ keys: [unusable[name], usable('a')] })).toBe(true)
    expect(store.size()).toBe(1)
    expect(store.key('a')).toBeDefined()
  })
})
