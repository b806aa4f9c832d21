import { generateKeyPairSync } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unixSeconds } from '../../shared/platform/clock.ts'
import { rememberSecret } from '../support/clients/http-client.ts'
import { markupCorpus, shownErrors, shownSecrets, showsAsText, unescaped } from '../support/clients/pages/page-text.ts'
import { signIn } from '../support/clients/pages/sign-in.ts'
import { type ClientKey, signUrl } from '../support/clients/signing.ts'
import { type ConsoleWorld, expectPage, openConsole, type PageReader } from '../support/worlds/console-world.ts'
import { passwordOf } from '../support/worlds/stack.ts'

let world: ConsoleWorld
let alice: PageReader

beforeAll(async () => {
  world = await openConsole()
  alice = await world.readAs('alice')
})
afterAll(() => world.close())

const tomorrow = () => new Date(world.stack.clock.now() + 86_400_000).toISOString().slice(0, 10)

/** The status of a signed request, as a program sends it. */
const signed = async (key: ClientKey, path = '/rest/v1/deals') => {
  const timestamp = unixSeconds(world.stack.clock.now())
  const url = signUrl(key, { method: 'GET', url: world.stack.deal.url + path }, { timestamp })
  return (await fetch(url)).status
}

it('shows the reader his rights in words, and leads to the other pages of the account', async () => {
  const page = await alice.get('/account')
  expectPage(page, 200, 'Hold deals', 'Read the history of deals', '/account/password', '/account/tokens')
  expect(page.text).not.toContain('Administration')
  expectPage(await (await world.readAs('dave')).get('/account'), 200, 'No role', 'You have no rights.')
  expect((await alice.get('/account?done=__proto__')).text).not.toContain('class="notice"')
})

describe('the password', () => {
  const change = (reader: PageReader, oldPassword: string, newPassword: string, again = newPassword) =>
    reader.post('/account/password', { oldPassword, newPassword, again })

  it('is refused at the field at fault, and never shown', async () => {
    const good = 'three words and a river'
    const old = passwordOf('alice')
    const cases: readonly (readonly [sent: readonly [string, string, string?], field: string])[] = [
      [['', good], 'oldPassword'],
      [['not the password', good], 'oldPassword'],
      [[old, ''], 'newPassword'],
      [[old, 'short'], 'newPassword'],
      [[old, 'password1234'], 'newPassword'],
      [[old, 'alice1234!!!'], 'newPassword'],
      [[old, good, 'three words and a rover'], 'again'],
    ]
    for (const [sent, field] of cases) {
      const page = await change(alice, sent[0], sent[1], sent[2])
      expect([page.status >= 400, Object.keys(shownErrors(page.text))], sent.join()).toEqual([true, [field]])
      expect(page.text).toContain('role="alert"')
      for (const secret of [good, old, 'alice1234!!!']) expect(page.text).not.toContain(secret)
    }
    expect((await alice.post('/account/password', {})).status).toBe(422)
  })

  it('is changed, which ends the other sessions and keeps this one', async () => {
    const [carol, other] = [await world.readAs('carol'), await world.readAs('carol')]
    const password = 'a new long phrase of carol'
    rememberSecret(password)
    const reply = await change(carol, passwordOf('carol'), password)
    expect([reply.status, reply.headers.get('location')]).toEqual([303, '/account/password?done=password-changed'])
    expectPage(await carol.get('/account/password?done=password-changed'), 200, 'Your password is changed.')
    expect((await other.get('/account')).status).toBe(303)
    expect((await change(carol, password, passwordOf('carol'))).status).toBe(303)
  })
})

describe('sessions', () => {
  it('are listed with what the browser said of itself as text, and ended one by one or all others', async () => {
    const bob = await world.readAs('bob')
    const others = await Promise.all(
      markupCorpus.map((agent) =>
        signIn(world.stack, 'bob', { headers: { 'user-agent': agent.replace(/[^\x20-\x7e]/g, '') } }),
      ),
    )
    await world.stack.logIn('bob')
    const page = await bob.get('/account/sessions')
    expectPage(page, 200, 'this session', 'End all others', 'Tokens')
    for (const agent of markupCorpus) expect(showsAsText(page.text, agent), agent).toBe(true)
    const first = others[0]
    const ended = await bob.post('/account/sessions', { action: 'end', id: first?.id ?? '' })
    expect(ended.headers.get('location')).toBe('/account/sessions?done=session-ended')
    const isOver = async (cookie = '') => (await world.stack.auth.send('/account', { headers: { cookie } })).status
    expect([await isOver(first?.cookie), await isOver(others[1]?.cookie)]).toEqual([303, 200])
    expect((await bob.post('/account/sessions', { action: 'end-others' })).status).toBe(303)
    expect(await isOver(others[1]?.cookie)).toBe(303)
    expect((await bob.get('/account/sessions')).text).not.toContain('End all others')
  })

  it('of other users, unknown ones, and forms without an action end nothing', async () => {
    const dave = await signIn(world.stack, 'dave')
    for (const fields of [{ action: 'end', id: dave.id }, { action: 'end', id: '../users' }, { action: 'end' }, {}])
      expectPage(await alice.post('/account/sessions', fields as Record<string, string>), 404)
    expect((await world.stack.auth.send('/account', { headers: { cookie: dave.cookie } })).status).toBe(200)
    expect((await alice.get('/account')).status).toBe(200)
  })
})

describe('API keys', () => {
  const made = async (fields: Readonly<Record<string, string>>, reader = alice) => {
    const reply = await reader.post('/account/api-keys/new', { material: 'hmac', ...fields })
    expectPage(reply, 200, 'The API key is made')
    expect(reply.headers.get('cache-control')).toBe('no-store')
    const id = /\/account\/api-keys\/([0-9a-f-]{36})/.exec(reply.text)?.[1] ?? ''
    return { id, secrets: shownSecrets(reply.text) }
  }

  it('sign requests with the secret that is shown once, within the rights that were chosen', async () => {
    const { id, secrets } = await made({ name: 'night report', reach: 'chosen', 'rights.deal.read': 'true' })
    const key = { id, secret: secrets[0] ?? '' }
    expect(await signed(key)).toBe(200)
    expect(await signed(key, '/rest/v1/deals/01a205a7-29d2-73c0-b651-8b281c5866c0/history')).toBe(403)
    const page = await alice.get(`/account/api-keys/${id}`)
    expectPage(page, 200, 'night report', 'Read deals', 'Rotate')
    expect(page.text + (await alice.get('/account/api-keys')).text).not.toContain(key.secret)
  })

  it('are made as an RSA pair, or of a pair of the reader', async () => {
    const pair = await made({ material: 'rsa', reach: 'all', expiresAt: tomorrow() })
    expect(pair.secrets[0]).toMatch(/^-----BEGIN PRIVATE KEY-----\n[^<]+-----END PRIVATE KEY-----\n$/)
    expect(await signed({ id: pair.id, privateKeyPem: pair.secrets[0] ?? '' })).toBe(200)
    expectPage(await alice.get('/account/api-keys'), 200, 'soon', 'All of its owner')
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString().replaceAll('\n', '\r\n')
    const own = await made({ material: 'own', publicKeyPem, reach: 'all' })
    expect(own.secrets).toEqual([])
    const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    expect(await signed({ id: own.id, privateKeyPem })).toBe(200)
  })

  it('are refused at the field at fault, which keeps what was entered', async () => {
    const right = { reach: 'chosen', 'rights.deal.hold': 'true' }
    for (const [fields, field] of [
      [{ reach: 'chosen' }, 'rights'],
      [{}, 'rights'],
      [{ ...right, name: 'x'.repeat(101) }, 'name'],
      [{ ...right, name: ' ' }, 'name'],
      [{ ...right, material: 'own' }, 'publicKeyPem'],
      [{ ...right, material: 'own', publicKeyPem: 'no key' }, 'publicKeyPem'],
      [{ ...right, expiresAt: '2020-01-01' }, 'expiresAt'],
      [{ ...right, expiresAt: 'soon' }, 'expiresAt'],
      [{ ...right, password: 'not the password' }, 'password'],
    ] as const) {
      const page = await alice.post('/account/api-keys/new', { material: 'hmac', ...fields, requireBodyHash: 'true' })
      expect([page.status >= 400, Object.keys(shownErrors(page.text))], JSON.stringify(fields)).toEqual([true, [field]])
      if ('rights.deal.hold' in fields) expect(page.text).toMatch(/name="rights\.deal\.hold"[^>]* checked/)
      expect(page.text).not.toContain('not the password')
    }
  })

  it('show their names as text', async () => {
    for (const name of markupCorpus) {
      const { id } = await made({ name, reach: 'all' })
      for (const path of ['/account/api-keys', `/account/api-keys/${id}`]) {
        let page = await alice.get(path)
        const next = /href="(\/account\/api-keys\?cursor=[^"]*)"/.exec(page.text)?.[1]
        if (!showsAsText(page.text, name) && next) page = await alice.get(next.replaceAll('&amp;', '&'))
        expect(showsAsText(page.text, name), `${path} ${name}`).toBe(true)
      }
    }
  })

  it('are rotated, with or without an overlap, and revoked', async () => {
    const { id, secrets } = await made({ reach: 'all', name: 'rotated' })
    const path = `/account/api-keys/${id}`
    const first = { id, secret: secrets[0] ?? '' }
    const rotate = async (fields: Readonly<Record<string, string>>) => {
      const page = await alice.post(path, { action: 'rotate', ...fields })
      expectPage(page, 200, 'The API key is rotated')
      return { id, secret: shownSecrets(page.text)[0] ?? '' }
    }
    const second = await rotate({ overlapSeconds: '3600', expiresAt: tomorrow() })
    expect([await signed(first), await signed(second)]).toEqual([200, 200])
    expectPage(await alice.get(path), 200, 'The former secret works until', 'soon')
    const third = await rotate({ overlapSeconds: '0', isForever: 'true' })
    await expect.poll(() => signed(second)).toBe(401)
    expect([await signed(first), await signed(third)]).toEqual([401, 200])
    for (const [fields, field] of [
      [{ isForever: 'true', expiresAt: tomorrow() }, 'expiresAt'],
      [{ expiresAt: '1999-01-01' }, 'expiresAt'],
      [{ overlapSeconds: '-1' }, 'overlapSeconds'],
      [{ overlapSeconds: 'x' }, 'overlapSeconds'],
      [{ password: 'not the password' }, 'password'],
    ] as const)
      expect(Object.keys(shownErrors((await alice.post(path, { action: 'rotate', ...fields })).text))).toEqual([field])
    const revoked = await alice.post(path, { action: 'revoke' })
    expect(revoked.headers.get('location')).toBe('/account/api-keys?done=key-revoked')
    await expect.poll(() => signed(third)).toBe(401)
    expectPage(await alice.get(path), 404)
  })

  it('of other users are not there, and forms without an action change nothing', async () => {
    const { id } = await made({ reach: 'all' })
    const bob = await world.readAs('bob')
    expectPage(await bob.get(`/account/api-keys/${id}`), 404)
    expectPage(await bob.post(`/account/api-keys/${id}`, { action: 'revoke' }), 404)
    for (const fields of [{}, { action: 'constructor' }])
      expectPage(await alice.post(`/account/api-keys/${id}`, fields as Record<string, string>), 200)
    expectPage(await alice.post('/account/tokens', {}), 200, 'Make a new Digest secret')
    expectPage(await alice.get(`/account/api-keys/${id}`), 200)
    expect((await alice.get(`/account/api-keys/${id}`)).text).not.toContain('The former secret')
  })

  it('need the password when the login is older than five minutes, and say so at the field', async () => {
    const bob = await world.readAs('bob')
    world.stack.clock.advanceSeconds(301)
    const fields = { material: 'hmac', reach: 'all', name: 'late' }
    const refused = await bob.post('/account/api-keys/new', fields)
    expect(Object.keys(shownErrors(refused.text))).toEqual(['password'])
    expect(refused.text).toContain('value="late"')
    await made({ ...fields, password: passwordOf('bob') }, bob)
    expect(Object.keys(shownErrors((await bob.post('/account/tokens', { action: 'digest' })).text))).toEqual([
      'digest-password',
    ])
  })
})

describe('tokens and secrets', () => {
  it('has a Digest secret, shown once, that works', async () => {
    const dave = await world.readAs('dave')
    const page = await dave.post('/account/tokens', { action: 'digest', password: passwordOf('dave') })
    expectPage(page, 200, 'The Digest secret is made')
    const [secret = ''] = shownSecrets(page.text)
    expect(secret.length).toBeGreaterThan(20)
    expect((await dave.get('/account/tokens')).text).not.toContain(secret)
  })

  it('has key-signed tokens with the parts that were chosen', async () => {
    const password = passwordOf('alice')
    const make = (fields: Readonly<Record<string, string>>) =>
      alice.post('/account/tokens', { action: 'key-signed', ...fields })
    const page = await make({ password, 'include.username': 'true' })
    expectPage(page, 200, 'The key-signed token is made')
    const [token = ''] = shownSecrets(page.text)
    const reply = await world.stack.deal.send('/rest/v1/deals', { headers: { authorization: `KeySigned ${token}` } })
    expect(reply.status, reply.text).toBe(200)
    expectPage(await make({ password }), 200, 'The key-signed token is made')
    for (const wrong of [{}, { password: '' }, { password: 'not the password' }]) {
      const refused = await make({ ...wrong, 'include.ip': 'true' })
      expect(Object.keys(shownErrors(refused.text)), JSON.stringify(wrong)).toEqual(['key-signed-password'])
      expect(refused.text).toMatch(/name="include\.ip"[^>]* checked/)
    }
  })
})

describe('the second factor', () => {
  const path = '/account/security'
  const hidden = (text: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? ''
  const codeOf = (uri: string) => {
    const secret = new URL(uri).searchParams.get('secret') ?? ''
    rememberSecret(secret)
    world.stack.clock.advanceSeconds(60)
    return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: world.stack.clock.now() })
  }

  it('is an app, confirmed by its code, asked for at the sign-in, with recovery codes, and removed', async () => {
    const dave = await world.readAs('dave')
    expectPage(await dave.get(path), 200, 'Nothing is set up.')
    const begun = await dave.post(path, { action: 'totp' })
    expectPage(begun, 200, 'Set up an app', '<svg')
    const uri = unescaped(hidden(begun.text, 'uri'))
    const confirm = { action: 'confirm-totp', challenge: hidden(begun.text, 'challenge'), uri, name: 'phone' }
    const refused = await dave.post(path, { ...confirm, code: '000000' })
    expect(Object.keys(shownErrors(refused.text))).toEqual(['code'])
    expect((await dave.post(path, { ...confirm, code: codeOf(uri) })).headers.get('location')).toBe(
      `${path}?done=factor-added`,
    )
    const made = await dave.post(path, { action: 'recovery' })
    const codes = shownSecrets(made.text)[0]?.split('\n') ?? []
    expect(codes).toHaveLength(10)
    for (const code of codes) rememberSecret(code)
    const page = await dave.get(path)
    expectPage(page, 200, 'phone', 'Codes of an app', '10 codes are left.')

    const send = (fields: Readonly<Record<string, string>>) =>
      world.stack.auth.send('/sessions', {
        method: 'POST',
        body: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html,*/*;q=0.8' },
      })
    const asked = await send({ username: 'dave', password: passwordOf('dave'), return_to: world.url(path) })
    expectPage(asked, 401, 'The password is right. Now enter a code.')
    const answer = { challenge: hidden(asked.text, 'challenge'), return_to: world.url(path) }
    expect(Object.keys(shownErrors((await send({ ...answer, code: '000000' })).text))).toEqual(['code'])
    expect((await send({ ...answer, code: codes[0] ?? '' })).status).toBe(303)
    expectPage(await dave.get(path), 200, '9 codes are left.')

    const id = unescaped(/remove=([^"&]+)/.exec(page.text)?.[1] ?? '')
    expectPage(await dave.get(`${path}?remove=${id}`), 200, 'Remove phone?')
    world.stack.clock.advanceSeconds(301)
    const unproved = await dave.post(path, { action: 'remove', id })
    expect(Object.keys(shownErrors(unproved.text))).toEqual(['remove-password'])
    const removed = await dave.post(path, { action: 'remove', id, password: passwordOf('dave') })
    expect(removed.headers.get('location')).toBe(`${path}?done=factor-removed`)
    expectPage(await dave.get(`${path}?remove=${id}`), 404, 'There is no such second factor any more.')
  })
})
