import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import { keyDocuments } from '../../../shared/protocol/internal-api/published-keys.ts'
import { createKeyStores } from '../../../verify/src/keys/key-stores.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const jwk = (): JsonWebKey => generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })
const [first, second] = [jwk(), jwk()]
const jwtKey = (kid: string, key: JsonWebKey) => ({ ...key, kid, use: 'sig', alg: 'RS256' })
const tokenKey = (kid: string, key: JsonWebKey) => ({ ...key, kid, use: 'sig', alg: 'kst1' })

/** Key stores of an auth server that publishes this. */
async function openKeyStores(
  documents: { jwt: readonly object[]; keySigned: readonly object[] },
  schemes: readonly SchemeName[] = ['bearer', 'key-signed'],
) {
  const asked: string[] = []
  const document = async (path: string) => {
    asked.push(path)
    return { keys: path === keyDocuments.jwt ? documents.jwt : documents.keySigned }
  }
  const stores = createKeyStores(fakeSystems({ authClient: { document } }), schemes)
  await stores.refresh()
  return { stores, asked }
}

describe('the keys of both kinds of tokens', () => {
  it('are separate: no key is found under the other kind', async () => {
    const { stores } = await openKeyStores({ jwt: [jwtKey('a', first)], keySigned: [tokenKey('b', second)] })
    expect([stores.jwt.key('a'), stores.keySigned.key('b')].map((key) => key?.type)).toEqual(['public', 'public'])
    expect([stores.jwt.key('b'), stores.keySigned.key('a')]).toEqual([undefined, undefined])
    expect(stores.areThere()).toBe(true)
  })

  it('come only from their own document', async () => {
    const { stores } = await openKeyStores({ jwt: [tokenKey('b', second)], keySigned: [jwtKey('a', first)] })
    expect([stores.jwt.size(), stores.keySigned.size()]).toEqual([0, 0])
    expect(stores.areThere()).toBe(false)
  })

  it('verify neither kind while one key is published as both, under any kids, and recover afterwards', async () => {
    const documents = {
      jwt: [jwtKey('a', first), jwtKey('c', second)],
      keySigned: [{ ...tokenKey('b', first), n: `${first.n}=` }] as object[],
    }
    const { stores } = await openKeyStores(documents)
    expect([stores.jwt.key('a'), stores.keySigned.key('b')]).toEqual([undefined, undefined])
    expect(stores.jwt.key('c')?.type).toBe('public')
    documents.keySigned = [tokenKey('d', jwk())]
    await stores.refresh()
    expect(stores.jwt.key('a')?.type).toBe('public')
    expect(stores.keySigned.key('d')?.type).toBe('public')
  })

  it('are required only for enabled schemes', async () => {
    const none = { jwt: [jwtKey('a', first)], keySigned: [] }
    expect((await openKeyStores(none)).stores.areThere()).toBe(false)
    expect((await openKeyStores(none, ['bearer', 'basic'])).stores.areThere()).toBe(true)
    const { stores, asked } = await openKeyStores(none, ['basic'])
    expect({ areThere: stores.areThere(), asked }).toEqual({ areThere: true, asked: [] })
  })
})
