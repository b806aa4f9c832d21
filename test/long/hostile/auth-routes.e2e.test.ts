/**
 * What a right alone and what a narrowed key may do on the auth server: each walks every route that the server
 * describes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builtInRights, type Right } from '../../../auth-server/principals/rights.ts'
import { type Asked, type AuthEntry, authRoutes, outcomeOf, type Subject } from '../../support/clients/auth-routes.ts'
import { type Reply, rememberSecret, type Sent } from '../../support/clients/http-client.ts'
import { type Document, describedIn, examplePath } from '../../support/clients/openapi.ts'
import { type ClientKey, clientKeyOf, signUrl } from '../../support/clients/signing.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

type Send = (path: string, sent: Sent) => Promise<Reply>

/** The rights that a route wants. No route tells the others apart, so these are walked together. */
const wanted = [...authRoutes.values()].flatMap((entry) => {
  if ('open' in entry) return []
  return [entry.others?.right, entry.own?.byRight?.[0]].filter((right) => right !== undefined)
})
const unwanted = builtInRights.filter((right) => !wanted.includes(right))

let stack: Stack
let admin: string
let count = 0

/** A new user, logged in, with an API key. */
async function newUser(grants: object = {}) {
  const username = `walker-${++count}`
  const password = `the password of ${username}`
  const made = await stack.auth.send('/users', { token: admin, json: { username, password, ...grants } })
  expect(made.status, made.text).toBe(201)
  const { access } = await stack.logIn(username, password)
  const key = await stack.auth.send('/api-keys', { token: access, json: { kind: 'hmac' } })
  return { username, password, access, key: clientKeyOf(key.body) }
}

/** What a walk of this caller is about. */
async function subjectOf(caller: string, password: string, ownKey: string): Promise<Subject> {
  const other = await newUser()
  return {
    caller,
    password,
    ownKey,
    other: other.username,
    otherKey: other.key.id,
    otherToken: other.access,
    newName: `made-${++count}`,
  }
}

async function ask(send: Send, route: string, { path, sent }: Asked): Promise<Reply> {
  const [method = '', described = ''] = route.split(' ')
  const reply = await send(path ?? examplePath(described), { ...sent, method })
  for (const name of ['secret', 'privateKeyPem']) {
    const shown = reply.body[name]
    if (typeof shown === 'string') rememberSecret(shown)
  }
  return reply
}

/** Expects what the table says of others' accounts, to the caller who has these rights. */
async function walkOthers(send: Send, [route, entry]: [string, AuthEntry], walk: Walk): Promise<void> {
  if (!('others' in entry) || !entry.others) return
  const { right, ask: asked, allowed, seen = () => '' } = entry.others
  const { refused = '403 missing-right', narrowed = refused } = entry.others
  const reply = await ask(send, route, asked(walk.subject))
  const outcome = outcomeOf(reply, seen(reply))
  const ofRefusal = walk.isNarrowed ? narrowed : refused
  expect({ route, about: 'others', outcome }).toEqual({
    route,
    about: 'others',
    outcome: walk.rights.includes(right) ? allowed : ofRefusal,
  })
  if (outcome === '403 missing-right' && outcome !== allowed) expect(reply.body.missingRight).toBe(right)
}

interface Walk {
  readonly subject: Subject
  /** What the credential lets through. */
  readonly rights: readonly Right[]
  readonly isNarrowed: boolean
}

async function walkOwn(send: Send, [route, entry]: [string, AuthEntry], walk: Walk): Promise<void> {
  if (!('own' in entry) || !entry.own) return
  const { ask: asked, allowed, narrowed, byRight } = entry.own
  const ofNarrowed = byRight && walk.rights.includes(byRight[0]) ? byRight[1] : narrowed
  const outcome = outcomeOf(await ask(send, route, asked(walk.subject)))
  expect({ route, about: 'own', outcome }).toEqual({
    route,
    about: 'own',
    outcome: walk.isNarrowed ? ofNarrowed : allowed,
  })
}

/** A narrowed key of the administrator. */
async function narrowedKey(rights: readonly Right[]): Promise<ClientKey> {
  const made = await stack.auth.send('/api-keys', { token: admin, json: { kind: 'hmac', rights } })
  return clientKeyOf(made.body)
}

const signedWith =
  (key: ClientKey): Send =>
  (path, sent) => {
    const body = sent.json === undefined ? sent.body : JSON.stringify(sent.json)
    const text = body === undefined ? {} : { body: String(body) }
    const method = sent.method ?? 'GET'
    const timestamp = Math.floor(stack.clock.now() / 1000)
    const url = signUrl(key, { method, url: stack.auth.url + path, ...text }, { timestamp, nonce: String(++count) })
    const type = sent.json === undefined ? {} : { 'content-type': 'application/json' }
    return stack.auth.send(url.slice(stack.auth.url.length), { method, headers: { ...type, ...sent.headers }, ...text })
  }

describeOnce('every route of the auth server', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  it('stands in the table, and no other', async () => {
    const document: Document = JSON.parse((await stack.auth.send('/openapi.json')).text)
    const described = describedIn(document).map(({ method, path }) => `${method} ${path}`)
    expect([...authRoutes.keys()].sort()).toEqual(described.sort())
  })

  it('wants a caller, or none', async () => {
    const send: Send = (path, sent) => stack.auth.send(path, sent)
    const subject = await subjectOf('admin', passwordOf('admin'), 'none')
    for (const [route, entry] of authRoutes) {
      const asked = 'open' in entry ? { sent: entry.sent ?? {} } : (entry.others ?? entry.own)?.ask(subject)
      const reply = await ask(send, route, asked ?? {})
      const expected = 'open' in entry ? entry.open : route.includes('/oauth/') ? '401' : '401 unauthenticated'
      expect({ route, outcome: outcomeOf(reply) }).toEqual({ route, outcome: expected })
    }
  })

  describe('with one right alone, or all that no route wants', () => {
    it.each([[], unwanted, ...[...new Set(wanted)].map((right) => [right])].map((rights) => [rights]))(
      '%j',
      async (rights) => {
        const { username, password, access, key } = await newUser({ rights })
        const walk: Walk = { subject: await subjectOf(username, password, key.id), rights, isNarrowed: false }
        const send: Send = (path, sent) => stack.auth.send(path, { ...sent, token: access })
        for (const line of authRoutes) {
          await walkOwn(send, line, walk)
          await walkOthers(send, line, walk)
        }
      },
    )
  })

  describe('by a key of the administrator narrowed to', () => {
    it.each<readonly Right[][]>([
      ...[[], ['deal.read'], ['key.read', 'audit.read', 'token.introspect']].map((rights) => [rights as Right[]]),
      ...(['user.manage', 'api-key.manage', 'session.manage'] as const).map((right) => [[right]]),
    ])('%j', async (rights) => {
      const key = await narrowedKey(rights)
      const own = await narrowedKey([])
      const subject = await subjectOf('admin', passwordOf('admin'), own.id)
      const walk: Walk = { subject, rights, isNarrowed: true }
      for (const line of authRoutes) {
        await walkOwn(signedWith(key), line, walk)
        await walkOthers(signedWith(key), line, walk)
      }
      expect((await stack.auth.send('/me', { token: admin })).status).toBe(200)
    })
  })
})
