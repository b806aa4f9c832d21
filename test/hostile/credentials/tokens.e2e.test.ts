import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, exportJWK } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type KeyRing, openKeyRing } from '../../../auth-server/key-ring/key-ring.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { keyTokenOf, makeApiKey, postForm } from '../../support/clients/oauth-requests.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let keyRing: KeyRing
let access: string
/** Where a token that names its own key would have it fetched from. */
let bait: Server
let baitUrl: string
let taken = 0

const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 })
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

const jws = (header: object, claims: object, key: KeyObject): string => {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${sign('RSA-SHA256', Buffer.from(input), key).toString('base64url')}`
}

describeEmbedded('tokens that somebody forged', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    access = (await stack.logIn('admin')).access
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    keyRing = await openKeyRing({ directory: stack.environment.KEYS_DIR ?? '', passphrase: undefined }, log as never)
    const jwk = { ...(await exportJWK(attacker.publicKey)), kid: 'bait', alg: 'RS256', use: 'sig' }
    bait = createServer((_request, response) => {
      taken += 1
      response.end(JSON.stringify({ keys: [jwk] }))
    }).listen(0, '127.0.0.1')
    await once(bait, 'listening')
    baitUrl = `http://127.0.0.1:${(bait.address() as AddressInfo).port}/jwks.json`
  })
  afterAll(async () => {
    bait.close()
    await keyRing.close()
    await stack.close()
  })

  const expectRefused = async (token: string, name: string, code = 'invalid-token'): Promise<void> => {
    for (const reply of [
      await stack.auth.send('/me', { token }),
      await stack.deal.send('/rest/v1/deals', { token }),
      await stack.deal.send('/rest/v1/deals/', { token, json: { name: 'deal', price: 1 } }),
    ]) {
      expect({ name, status: reply.status }).toEqual({ name, status: 401 })
      expectProblem(reply, 401, code)
    }
    const as = { authorization: `Bearer ${access}` }
    expect((await postForm(stack, '/oauth/introspect', { token }, as)).body, name).toEqual({ active: false })
  }

  const genuine = () => {
    const { kid, privateKey } = keyRing.signingKey('jwt')
    return { kid, privateKey, header: { alg: 'RS256', typ: 'at+jwt', kid }, claims: decodeJwt(access) }
  }

  it('is a test of the real key: what it signs is accepted', async () => {
    const { header, claims, privateKey } = genuine()
    const token = jws(header, claims, privateKey)
    expect((await stack.auth.send('/me', { token })).status).toBe(200)
    expect((await stack.deal.send('/rest/v1/deals', { token })).status).toBe(200)
  })

  it('refuses a key of the sender, however it is brought along, and fetches none', async () => {
    const { header, claims } = genuine()
    const jwk = await exportJWK(attacker.publicKey)
    const brought = {
      jwk: { jwk },
      'jwk without kid': { jwk, kid: undefined },
      jku: { jku: baitUrl, kid: 'bait' },
      x5u: { x5u: baitUrl },
      x5c: { x5c: [attacker.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] },
      'kid that is a URL': { kid: baitUrl },
      'kid that is a path': { kid: '../../../dev/null' },
      'kid of SQL': { kid: "' or '1'='1" },
      'kid of a prototype': { kid: '__proto__' },
      'no kid': { kid: undefined },
      'the right kid': {},
    }
    for (const [name, members] of Object.entries(brought))
      await expectRefused(jws({ ...header, ...members }, claims, attacker.privateKey), name)
    expect(taken).toBe(0)
  })

  it('refuses a JWT signed by the key of key-signed tokens, under either kid', async () => {
    const { header, claims, kid } = genuine()
    const other = keyRing.signingKey('key-signed')
    for (const named of [kid, other.kid])
      await expectRefused(jws({ ...header, kid: named }, claims, other.privateKey), named)
  })

  it('gives a token of a key that was narrowed no more rights by any change of its scope', async () => {
    const key = await makeApiKey(stack, access, { kind: 'hmac', rights: ['deal.read'] })
    const token = await keyTokenOf(stack, key)
    const [head = '', , signature = ''] = token.split('.')
    const { scope: _scope, ...unscoped } = decodeJwt(token)
    for (const claims of [unscoped, { ...unscoped, scope: 'user.manage' }])
      await expectRefused(`${head}.${encode(claims)}.${signature}`, 'scope')
  })
})
