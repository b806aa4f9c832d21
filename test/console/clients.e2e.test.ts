import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Reply } from '../support/clients/http-client.ts'
import { markupCorpus, shownErrors, shownSecrets, showsAsText } from '../support/clients/pages/page-text.ts'
import {
  type ConsoleWorld,
  expectPage,
  openConsole,
  type PageReader,
  tagShown,
} from '../support/worlds/console-world.ts'
import { passwordOf } from '../support/worlds/stack.ts'

let world: ConsoleWorld
let admin: PageReader

beforeAll(async () => {
  world = await openConsole()
  admin = await world.readAs('admin')
})
afterAll(() => world.close())

const password = passwordOf('admin')
const form = (list: string) => ({
  name: `of ${list}`,
  resourceServer: 'deals',
  resourceServers: 'deals',
  kind: 'confidential',
  reach: 'chosen',
  redirectUris: 'https://app.example/back',
  requirePkce: 'true',
})

/** The page of the thing whose secret a page shows. */
const pageBehind = ({ text }: Reply): string => /href="(\/account\/\w+\/[0-9a-f-]{36})">Go on to/.exec(text)?.[1] ?? ''

/** The status of a token request with this id and secret. */
async function tokenFor(path: string, secret: string): Promise<number> {
  const credential = Buffer.from(`${path.split('/').at(-1)}:${secret}`).toString('base64')
  const { status } = await world.stack.auth.send('/oauth/token', {
    method: 'POST',
    body: 'grant_type=client_credentials',
    headers: { authorization: `Basic ${credential}`, 'content-type': 'application/x-www-form-urlencoded' },
  })
  return status
}

describe.each(['services', 'clients'])('%s', (list) => {
  const lists = `/account/${list}`

  it('are made with a secret that is shown once, listed, rotated and deleted by their typed name', async () => {
    expectPage(await admin.get(lists), 200, 'There is nothing here.')
    const made = await admin.post(lists, form(list))
    expectPage(made, 200, 'This is shown only now.')
    const path = pageBehind(made)
    const [secret = ''] = shownSecrets(made.text)
    expect(secret).toMatch(/^[\w-]{43}$/)
    const page = await admin.get(path)
    expectPage(page, 200, `of ${list}`, 'Give it a new secret')
    expect(page.text).not.toContain(secret)
    expectPage(await admin.get(lists), 200, `href="${path}"`)

    expect(Object.keys(shownErrors((await admin.post(lists, form(list))).text))).toEqual(['name'])
    const wrong = await admin.post(path, { action: 'rotate', overlapSeconds: '86400', password: 'not it' })
    expect([wrong.status, Object.keys(shownErrors(wrong.text))]).toEqual([403, ['rotate-password']])
    const rotated = await admin.post(path, { action: 'rotate', overlapSeconds: '86400', password })
    const [second = ''] = shownSecrets(rotated.text)
    expect([pageBehind(rotated), second === secret]).toEqual([path, false])
    expectPage(await admin.get(path), 200, 'The former secret works until')
    if (list === 'services')
      expect(await Promise.all([secret, second].map((one) => tokenFor(path, one)))).toEqual([200, 200])
    await admin.post(path, { action: 'rotate', overlapSeconds: '0', password })
    expect((await admin.get(path)).text).not.toContain('The former secret works until')
    if (list === 'services') expect(await tokenFor(path, second)).toBe(401)

    for (const action of ['', 'toString', 'remove']) expectPage(await admin.post(path, { action }), 200)
    const unnamed = await admin.postShown(path, { action: 'delete', confirm: 'of' })
    expect(Object.keys(shownErrors(unnamed.text))).toEqual(['delete-confirm'])
    const gone = await admin.postShown(path, { action: 'delete', confirm: `of ${list}` })
    expect(gone.headers.get('location')).toBe(`${lists}?done=${list.slice(0, -1)}-deleted`)
    expectPage(await admin.get(path), 404)
  })

  it('have an error at the field when the password is wrong or the name is, and show texts as texts', async () => {
    const wrong = await admin.post(lists, { ...form(list), password: 'not the password' })
    expect([wrong.status, Object.keys(shownErrors(wrong.text))]).toEqual([403, ['password']])
    expect(wrong.text).not.toContain('not the password')
    expect(Object.keys(shownErrors((await admin.post(lists, { ...form(list), name: '' })).text))).toEqual(['name'])
    for (const name of markupCorpus) {
      const page = await admin.get(pageBehind(await admin.post(lists, { ...form(list), name })))
      expect(showsAsText(page.text, name), name).toBe(true)
    }
  })

  it('have pages for unknown ids', async () => {
    for (const id of ['x', '00000000-0000-4000-8000-000000000000']) expectPage(await admin.get(`${lists}/${id}`), 404)
  })
})

describe('a client', () => {
  const clients = '/account/clients'
  const make = async (fields: Readonly<Record<string, string>> = {}) => {
    const reply = await admin.post(clients, { ...form('clients'), kind: 'public', ...fields })
    return (reply.headers.get('location') ?? '').replace(/\?.*/, '')
  }

  it('is refused with the number of each wrong line, and keeps what was entered', async () => {
    const lines = '\r\nhttps://app.example/a\r\n\r\nhttp://app.example/b\r\nhttps://app.example/a\r\ncom.example:/c\r\n'
    const page = await admin.post(clients, {
      ...form('clients'),
      redirectUris: lines,
      resourceServers: 'deals\nnone-such',
      'rights.deal.read': 'own',
      needsRight: 'audit.read',
    })
    expect(page.status).toBe(422)
    const { redirectUris = '', resourceServers } = shownErrors(page.text)
    expect(redirectUris.split('\n').map((line) => line.slice(0, 18))).toEqual([
      'Line 2: must begin',
      'Line 3: is there a',
      'Line 4: must begin',
    ])
    expect(resourceServers).toBe('Line 2: there is none of this name')
    expect(page.text).toContain('https://app.example/a\nhttp://app.example/b\nhttps://app.example/a\ncom.example:/c</')
    expect(page.text).toMatch(/name="rights\.deal\.read" value="own" checked/)
    expect(page.text).toMatch(/value="audit\.read" selected/)
  })

  it('of another party needs chosen rights, and a public one PKCE and no key', async () => {
    for (const [fields, field] of [
      [{ reach: 'all' }, 'reach'],
      [{ kind: 'public', requirePkce: '' }, 'requirePkce'],
      [{ kind: 'public', publicKeyPem: 'x' }, 'publicKeyPem'],
      [{ redirectUris: '' }, 'redirectUris'],
      [{ postLogoutRedirectUris: 'none' }, 'postLogoutRedirectUris'],
    ] as const) {
      const page = await admin.post(clients, { ...form('clients'), ...fields })
      expect([page.status, Object.keys(shownErrors(page.text))], field).toEqual([422, [field]])
    }
  })

  it('that is public has no secret, and is changed', async () => {
    const path = await make({ name: 'phone', redirectUris: 'com.example.app:/back', 'rights.deal.read': 'true' })
    const page = await admin.get(`${path}?done=client-created`)
    expectPage(page, 200, 'The client is registered.', 'com.example.app:/back')
    expect(page.text).toMatch(/name="rights\.deal\.read" value="true" checked/)
    expect(page.text).not.toContain('Give it a new secret')
    expect(page.text).toMatch(/name="mode" value="run" checked/)
    const waiting = { ...form('clients'), action: 'change', name: 'phone', mode: 'propose' }
    expect((await admin.postShown(path, waiting)).status).toBe(303)
    expect((await admin.get(path)).text).toMatch(/name="mode" value="propose" checked/)
    const change = {
      ...form('clients'),
      action: 'change',
      name: 'phones',
      firstParty: 'true',
      reach: 'all',
      mode: 'run',
    }
    expect((await admin.postShown(path, change)).headers.get('location')).toBe(`${path}?done=client-changed`)
    const changed = await admin.get(path)
    expectPage(changed, 200, '<h1>phones</h1>')
    expect(changed.text).toMatch(/name="reach" value="all" checked/)
    const refused = await admin.postShown(path, { ...change, redirectUris: 'http://app.example/' })
    expect([refused.status, Object.keys(shownErrors(refused.text))]).toEqual([422, ['redirectUris']])
    expect(refused.text).toContain('http://app.example/</')
  })

  it('has only rights of its maker, and the page names the one that the maker lacks', async () => {
    const rights = { 'rights.client.manage': 'true', 'rights.audit.read': 'true' }
    await admin.post('/account/users', { username: 'cleo', password: passwordOf('cleo'), enabled: 'true', ...rights })
    const cleo = await world.readAs('cleo')
    const page = await cleo.get(`${clients}?new=yes`)
    expectPage(page, 200, 'name="rights.audit.read"')
    expect(page.text).not.toContain('rights.deal.read')
    const all = await cleo.post(clients, { ...form('clients'), firstParty: 'true', reach: 'all' })
    expectPage(all, 403, 'There is a problem', 'deal.read')
    expectPage(await cleo.post(clients, { ...form('clients'), name: 'audits', 'rights.audit.read': 'true' }), 200)
    const path = await make({ name: 'of others', 'rights.deal.read': 'true' })
    expect((await cleo.get(path)).text).toMatch(/name="rights\.deal\.read"[^>]* checked/)
    const change = await cleo.postShown(path, { ...form('clients'), action: 'change', 'rights.deal.read': 'true' })
    expectPage(change, 403, 'deal.read')
  })

  it('is neither changed nor deleted by a form of an old page', async () => {
    const path = await make({ name: 'passing' })
    const old = tagShown(await admin.get(path))
    const change = { ...form('clients'), action: 'change', name: 'passed' }
    expect((await admin.postShown(path, change)).status).toBe(303)
    for (const fields of [
      { ...change, name: 'back' },
      { action: 'delete', confirm: 'passed' },
    ])
      for (const sent of [{ etag: old }, {}])
        expectPage(await admin.post(path, { ...fields, ...sent }), 412, 'somebody has changed it since it was read')
    expectPage(await admin.get(path), 200, '<h1>passed</h1>')
  })
})
