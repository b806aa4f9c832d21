/** Every credential of the typed client against both servers, and how each is renewed. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  accessToken,
  basic,
  bearer,
  type Credential,
  createKeyhold,
  digest,
  hmacKey,
  keySigned,
  rsaKey,
  session,
} from '../../client/src/index.ts'
import { makeKey } from '../support/clients/signing.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { digestSecretOf, openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'

const username = 'alice'
const password = passwordOf(username)

/** Each credential, made for a stack. */
const credentials: Readonly<Record<string, (stack: Stack) => Promise<Credential> | Credential>> = {
  bearer: () => bearer({ username, password }),
  accessToken: async (stack) => accessToken((await stack.logIn(username)).access),
  basic: () => basic({ username, password }),
  digest: () => digest({ username, secret: digestSecretOf(username) }),
  session: () => session({ username, password }),
  'hmacKey in the query': async (stack) => hmacKey(secretOf(await makeKey(stack, username))),
  'hmacKey with an audience': async (stack) =>
    hmacKey({ ...secretOf(await makeKey(stack, username)), audience: 'deals' }),
  'hmacKey in header fields': async (stack) =>
    hmacKey({ ...secretOf(await makeKey(stack, username)), form: 'headers' }),
  'rsaKey in the query': async (stack) => rsaKey(privateOf(await makeKey(stack, username, { kind: 'rsa' }))),
  'rsaKey in header fields': async (stack) =>
    rsaKey({ ...privateOf(await makeKey(stack, username, { kind: 'rsa' })), form: 'headers' }),
  keySigned: () => keySigned({ username, password }),
  'keySigned with a password': () => keySigned({ username, password, include: ['username', 'ip', 'password'] }),
}

const secretOf = ({ id, secret = '' }: { id: string; secret?: string }) => ({ id, secret })
const privateOf = ({ id, privateKeyPem = '' }: { id: string; privateKeyPem?: string }) => ({
  id,
  privateKey: privateKeyPem,
})

describeEmbedded('a credential of the typed client', (openBackend) => {
  let stack: Stack
  const requests: string[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init)
    requests.push(`${init?.method} ${new URL(String(input)).pathname} ${response.status}`)
    return response
  }

  beforeAll(async () => {
    stack = await openStack(openBackend)
  })

  afterAll(() => stack.close())

  const clientWith = (credential: Credential) => {
    requests.length = 0
    return createKeyhold({ authUrl: stack.auth.url, dealUrl: stack.deal.url, credential, fetch, retries: 0 })
  }

  it.each(Object.keys(credentials))('%s reads and commands on both servers', async (name) => {
    const keyhold = clientWith((await credentials[name]?.(stack)) ?? basic({ username: '', password: '' }))
    const { data: me } = await keyhold.auth.GET('/me')
    expect(me.username).toBe(username)
    const { data: made } = await keyhold.deals.POST('/rest/v1/deals', { body: { name: `by ${name}`, price: '12.50' } })
    const params = { path: { id: made.id } }
    const held = await keyhold.deals.PUT('/rest/v1/deals/{id}/hold', { params, body: { reason: 'a & b = c' } })
    expect(held.data).toMatchObject({ name: `by ${name}`, held: true, holdReason: 'a & b = c' })
    const found = []
    const query = { q: `by ${name}`, sort: 'name' } as const
    for await (const deal of keyhold.deals.items('/rest/v1/deals', { params: { query } })) found.push(deal.id)
    expect(found).toContain(made.id)
    const deleted = await keyhold.deals.DELETE('/rest/v1/deals/{id}', { params })
    expect(deleted.response.status).toBe(204)
  })

  it('digest uses one nonce for many requests, and goes on with another when it is stale', async () => {
    const keyhold = clientWith(digest({ username, secret: digestSecretOf(username) }))
    await Promise.all(Array.from({ length: 5 }, () => keyhold.deals.GET('/rest/v1/deals')))
    await Promise.all(Array.from({ length: 5 }, () => keyhold.deals.GET('/rest/v1/deals')))
    expect(requests.filter((line) => line.endsWith(' 401')).length).toBeLessThanOrEqual(5)
    expect(requests.filter((line) => line.endsWith(' 200'))).toHaveLength(10)
    requests.length = 0
    stack.clock.advanceSeconds(600)
    await keyhold.deals.GET('/rest/v1/deals')
    expect(requests).toEqual(['GET /rest/v1/deals 401', 'GET /rest/v1/deals 200'])
  })

  it('digest does not try a wrong secret again', async () => {
    const keyhold = clientWith(digest({ username, secret: 'wrong' }))
    await expect(keyhold.deals.GET('/rest/v1/deals')).rejects.toMatchObject({ code: 'invalid-credentials' })
    expect(requests).toHaveLength(2)
  })

  it('session begins another session when it was ended, once for parallel requests', async () => {
    const keyhold = clientWith(session({ username, password }))
    await keyhold.auth.GET('/me')
    const { access } = await stack.logIn('admin')
    const ended = await stack.auth.send(`/users/${username}/logout`, { method: 'POST', token: access })
    expect(ended.status).toBe(204)
    const answers = await Promise.all(Array.from({ length: 5 }, () => keyhold.deals.GET('/rest/v1/deals')))
    expect(answers.every(({ response }) => response.status === 200)).toBe(true)
    expect(requests.filter((line) => line.startsWith('POST /sessions'))).toHaveLength(2)
    await keyhold.logOut()
    expect(requests.at(-1)).toBe('DELETE /sessions/current 204')
  })

  it('keySigned gets another token when its own has expired', async () => {
    const keyhold = clientWith(keySigned({ username, password }))
    await keyhold.auth.GET('/me')
    stack.clock.advanceSeconds(100_000)
    await keyhold.auth.GET('/me')
    expect(requests.filter((line) => line === 'POST /key-signed-tokens 201')).toHaveLength(2)
  })

  it('accessToken asks its source for another token after a refusal', async () => {
    const refused: (string | undefined)[] = []
    const source = async (token: string | undefined) => {
      refused.push(token)
      return (await stack.logIn(username)).access
    }
    const keyhold = clientWith(accessToken(source))
    await keyhold.auth.GET('/me')
    stack.clock.advanceSeconds(3600)
    await Promise.all([keyhold.auth.GET('/me'), keyhold.deals.GET('/rest/v1/deals')])
    expect(refused).toEqual([undefined, expect.any(String)])
  })

  it.each([
    ['ahead of', 'signature-from-future', -4000],
    ['behind', 'signature-too-old', 4000],
  ])('a key sets its clock when it is %s that of the server (%s)', async (_words, _code, seconds) => {
    const keyhold = clientWith(hmacKey(secretOf(await makeKey(stack, username))))
    await keyhold.deals.GET('/rest/v1/deals')
    requests.length = 0
    stack.clock.advanceSeconds(seconds)
    await keyhold.deals.GET('/rest/v1/deals')
    await keyhold.deals.GET('/rest/v1/deals')
    expect(requests.map((line) => line.slice(-3))).toEqual(['401', '200', '200'])
    stack.clock.advanceSeconds(-seconds)
  })

  it('a key signs in header fields what cannot be signed in the query', async () => {
    const keyhold = clientWith(hmacKey(secretOf(await makeKey(stack, username))))
    const { data } = await keyhold.deals.GET('/rest/v1/deals', { params: { query: { q: 'a&b' } } })
    expect(data.items).toEqual([])
  })
})
