/**
 * What a limit refuses of credentials that come with each request is in the audit log, whichever server it was sent to.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'

type Entry = Readonly<Record<string, unknown>>

/** Makes the header fields of one wrong request after the other. */
type WrongCredential = (server: TestServer, path: string) => Promise<(count: number) => Record<string, string>>

const wrongDigest =
  (username: string, userhash = false): WrongCredential =>
  async ({ url }, uri) => {
    const nonce = await askForNonce(url)
    const wrong = { username, userhash, nonce, secret: 'not the secret', method: 'GET', uri }
    return (count) => ({ authorization: digestCredential({ ...wrong, count }) })
  }

describeBackends('the audit log', (openBackend) => {
  let stack: Stack
  let token: string
  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: { LOGIN_FAILURES_PER_ACCOUNT: '2/60' } })
    token = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const wrongPassword =
    (username: string, include = ['username', 'password']): WrongCredential =>
    async () => {
      const token = await keySignedToken(stack.auth, { username, include })
      return (count) => keySignedHeaders(token, `wrong password ${count}`)
    }

  /** Refusals by a limit behind `after`. */
  async function refusalsBehind(after: number): Promise<Entry[]> {
    const { body } = await stack.auth.send(`/audit?after=${after}&limit=200`, { token })
    return (body.items as Entry[]).filter(({ outcome }) => outcome === 'too-many-attempts')
  }

  const name = expect.stringMatching(/^[0-9a-f-]{36}$/)

  it.each([
    ['Digest', 'auth', wrongDigest('alice'), ['alice', 'digest-secret.verified', 'alice', 'digest']],
    ['Digest', 'deal', wrongDigest('bob'), ['bob', 'digest-secret.verified', 'bob', 'digest']],
    ['a token’s password', 'auth', wrongPassword('carol'), ['carol', 'password.verified', 'carol', 'key-signed']],
    ['a token’s password', 'deal', wrongPassword('dave'), ['dave', 'password.verified', 'dave', 'key-signed']],
    [
      ...(['the password of a token without a user', 'deal', wrongPassword('admin', ['password'])] as const),
      ['anonymous', 'password.verified', name, 'key-signed'],
    ],
    ['Digest by hash', 'deal', wrongDigest('admin', true), ['admin', 'digest-secret.verified', 'admin', 'digest']],
  ] as const)('tells once of %s, refused again and again by the %s server', async (_what, which, wrong, expected) => {
    const last = Number((await refusalsBehind(0)).at(-1)?.seq ?? 0)
    const server = stack[which]
    const path = which === 'auth' ? '/me' : '/rest/v1/deals'
    const headers = await wrong(server, path)
    const statuses: number[] = []
    for (let count = 1; count <= 5; count += 1) {
      statuses.push((await server.send(path, { headers: headers(count) })).status)
    }
    expect(statuses).toEqual([401, 401, 429, 429, 429])
    // Deal servers tell of theirs in the background.
    await expect.poll(() => refusalsBehind(last)).not.toEqual([])
    // Those of others, which were left out, may be told of meanwhile.
    const found = (await refusalsBehind(last)).filter(({ actor }) => actor === expected[0])
    expect(found.map(({ actor, action, target, scheme }) => [actor, action, target, scheme])).toEqual([expected])
    expect(found[0]).toMatchObject({ address: '127.0.0.1', requestId: null })
  })

  const names = ['admin', 'alice', 'bob', 'carol', 'dave', 'anonymous']

  it('keeps nothing of a secret that somebody sent as the name of a Digest user', async () => {
    const secret = 'a secret, typed in the wrong field'
    rememberSecret(secret)
    const last = Number((await refusalsBehind(0)).at(-1)?.seq ?? 0)
    for (const [server, path] of [
      [stack.auth, '/me'],
      [stack.deal, '/rest/v1/deals'],
    ] as const) {
      const headers = await wrongDigest(secret)(server, path)
      // What can be no name counts by the address alone.
      const statuses: number[] = []
      while (statuses.at(-1) !== 429 && statuses.length < 110) {
        statuses.push((await server.send(path, { headers: headers(statuses.length + 1) })).status)
      }
    }
    const ofNobody = async () => (await refusalsBehind(last)).filter(({ actor }) => !names.includes(String(actor)))
    await expect.poll(ofNobody).not.toEqual([])
    expect(await ofNobody()).toMatchObject([{ actor: null, target: null, scheme: 'digest' }])
  })
})
