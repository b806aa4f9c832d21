import { afterAll, beforeAll, expect, it } from 'vitest'
import { explainedProblems } from '../../../shared/protocol/problems/catalogue.ts'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { createChecker, type Document } from '../../support/clients/openapi.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'

const deals = 'http://deals.test'
const problems = explainedProblems(400)

let stack: Stack

/** Each page with the server that has it. */
const docsPages = (): [TestServer, string][] => [
  [stack.auth, '/docs'],
  [stack.auth, '/docs/'],
  [stack.deal, '/docs'],
  [stack.deal, '/rest/docs'],
]

const policyOf = ({ headers }: Reply): Record<string, string> =>
  Object.fromEntries(
    (headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ')
      return [name, sources.join(' ')]
    }),
  )

/** Expects HTML that loads files of its own server only and has neither script nor style of its own. */
function expectStrictPage(reply: Reply): void {
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
  expect(reply.headers.get('referrer-policy')).toBe('strict-origin')
  expect(reply.text).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]* src=)|javascript:/i)
  const loaded = [...reply.text.matchAll(/<(?:link|script|img)[^>]* (?:src|href)="([^"]*)"/g)].map(
    ([, url = '']) => url,
  )
  expect(loaded.length).toBeGreaterThan(1)
  expect(loaded.filter((url) => !/^\/[a-z]/.test(url))).toEqual([])
  const { 'img-src': _images, 'connect-src': _calls, 'form-action': _forms, ...rest } = policyOf(reply)
  const scripts = reply.text.includes('<script') ? { 'script-src': "'self'" } : {}
  expect(rest).toEqual({
    'default-src': "'none'",
    'style-src': "'self'",
    'base-uri': "'none'",
    'frame-ancestors': "'none'",
    ...scripts,
  })
}

describeEmbedded('the pages that explain the servers', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  it('are documentation pages under a strict policy, loading nothing from elsewhere', async () => {
    for (const [server, path] of docsPages()) {
      const reply = await server.send(path)
      expectStrictPage(reply)
      // People sign in on pages that a browser calls secure: not on those of the deal server here.
      const [own, forms] = server === stack.auth ? [stack.auth.url, stack.auth.url] : [deals, "'none'"]
      const policy = { 'img-src': "'self' data:", 'connect-src': `'self' ${own}`, 'form-action': forms }
      expect(policyOf(reply)).toMatchObject(policy)
      expect(reply.text.includes('id="sign-in"')).toBe(server === stack.auth)
      expect(reply.text).toContain('such as the access token of <code>POST /login</code>')
    }
  })

  it('begin with a page for browsers, and JSON for all others', async () => {
    for (const [server, other, name] of [
      [stack.auth, deals, 'auth server'],
      [stack.deal, stack.auth.url, 'deal server'],
    ] as const) {
      const page = await server.send('/', { headers: { accept: 'text/html,application/xml;q=0.9,*/*;q=0.8' } })
      expectStrictPage(page)
      expect(page.text).toContain(`<h1>Keyhold ${name}</h1>`)
      expect(page.text).toContain(`href="${other}/"`)
      const linked = [...page.text.matchAll(/<li><a href="([^"]+)"/g)].map(([, path = '']) => path)
      // The console of a reader who is not signed in leads to the page for signing in.
      for (const path of linked)
        expect((await server.send(path)).status, path).toBe(/^\/(console|account)$/.test(path) ? 303 : 200)
      for (const accept of ['*/*', 'application/json', 'text/html;q=0.5,application/json']) {
        const reply = await server.send('/', { headers: { accept } })
        expect(reply.body).toMatchObject({ name: `Keyhold ${name}`, otherServer: { url: other } })
        expect(Object.values(reply.body.links as object)).toHaveLength(linked.length)
        const known = { accept, 'if-none-match': String(reply.headers.get('etag')) }
        expect((await server.send('/', { headers: known })).status).toBe(304)
        expect(reply.headers.get('vary')).toContain('Accept')
      }
    }
  })

  it('are named by unknown paths that the other server has', async () => {
    const detailOf = async (server: TestServer, path: string, method = 'GET') => {
      const refused = await server.send(path, { method })
      expectProblem(refused, 404, 'not-found')
      return refused.body.detail
    }
    expect(await detailOf(stack.deal, '/rest/v1/deals/1/hodl', 'PUT')).toBe('There is no such route.')
    expect(await detailOf(stack.deal, '/login', 'POST')).toContain(`${stack.auth.url}/login`)
    expect(await detailOf(stack.deal, '/users/<b>/password')).toMatch(/\/users\.$/)
    expect(await detailOf(stack.auth, '/rest/v1/deals')).toContain(`${deals}/rest`)
    expect(await detailOf(stack.auth, '/intrenal/feed')).toBe('There is no such route.')
    expect(await detailOf(stack.auth, '/<script>')).toBe('There is no such route.')
  })

  it('load files that are there and may be kept for ever under that URL', async () => {
    for (const [server, path] of docsPages()) {
      const { text } = await server.send(path)
      for (const [, url = ''] of text.matchAll(/(?:href|src)="([^"]*\/assets\/[^"]*)"/g)) {
        const { status, headers } = await server.send(url)
        expect({ url, status }).toEqual({ url, status: 200 })
        expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
        expect(headers.get('content-type')).toMatch(/^(text\/(css|javascript)|image\/svg\+xml); charset=utf-8$/)
        expect(url.startsWith(`${path.replace(/\/$/, '')}/assets/`)).toBe(true)
      }
    }
  })

  it('serve files under another version only to be asked for again, and no other file', async () => {
    const old = await stack.deal.send('/docs/assets/pages.css?v=old')
    expect([old.status, old.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    for (const name of ['none.css', '.%252e%2fdocs-page.ts', 'constructor', 'swagger-ui.js']) {
      expectProblem(await stack.deal.send(`/docs/assets/${name}`), 404, 'not-found')
    }
    for (const name of ['..%2fdocs-page.ts', '%2e%2e%2fpackage.json'])
      expectProblem(await stack.deal.send(`/docs/assets/${name}`), 400, 'dot-segment')
  })

  it('name the document that is there', async () => {
    for (const [server, path] of docsPages()) {
      const { text } = await server.send(path)
      const [, document = ''] = /data-document="([^"]*)"/.exec(text) ?? []
      const { body } = await server.send(document)
      expect(body.servers).toEqual([{ url: server === stack.auth ? stack.auth.url : deals }])
      expect(document).toBe(path.startsWith('/rest') ? '/rest/openapi.json' : '/openapi.json')
    }
  })

  it.each(['/docs', '/problems/', '/problems/deal-held', '/docs/assets/docs.js'])(
    'answer HEAD, other methods and a known entity tag as everywhere: %s',
    async (path) => {
      const { headers } = await stack.deal.send(path)
      const etag = String(headers.get('etag'))
      expect(etag).toMatch(/^"[\w-]{43}"$/)
      const known = await stack.deal.send(path, { headers: { 'if-none-match': `W/${etag}` } })
      expect([known.status, known.text, known.headers.get('etag')]).toEqual([304, '', etag])
      expect((await stack.deal.send(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
      const head = await stack.deal.send(path, { method: 'HEAD' })
      expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag])
      const posted = await stack.deal.send(path, { method: 'POST' })
      expectProblem(posted, 405, 'method-not-allowed')
      expect(posted.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    },
  )

  it('are a page for each code of either server on both', async () => {
    for (const server of [stack.auth, stack.deal]) {
      const list = await server.send('/problems/')
      expectStrictPage(list)
      expect(policyOf(list)).toMatchObject({ 'form-action': "'none'", 'img-src': "'self'" })
      for (const { code, status, title } of problems) {
        expect(list.text).toContain(`href="/problems/${code}"`)
        const page = await server.send(`/problems/${code}/`)
        expectStrictPage(page)
        expect(page.text).toContain(`<h1>${title}</h1>`)
        expect(page.text).toContain(`<dd>${status} `)
      }
    }
  })

  it('are JSON for programs, with the address of each code as its problems name it', async () => {
    for (const server of [stack.auth, stack.deal]) {
      const { body: refusal } = await server.send('/none')
      const accept = { headers: { accept: 'application/problem+json' } }
      const one = await server.send('/problems/not-found', accept)
      expect(one.headers.get('content-type')).toBe('application/json')
      expect(one.headers.get('vary')).toBe('Accept, Origin')
      expect(one.body).toMatchObject({
        type: refusal.type,
        title: refusal.title,
        status: 404,
        servers: ['auth', 'deal'],
      })
      const all = await server.send('/problems', { headers: { accept: 'application/json' } })
      const items = all.body.items as { code: string }[]
      expect(items.map(({ code }) => code)).toEqual(problems.map(({ code }) => code))
      expect(items).toContainEqual(one.body)
    }
  })

  it('are as the documents describe them', async () => {
    for (const server of [stack.auth, stack.deal]) {
      const checker = createChecker(JSON.parse((await server.send('/openapi.json')).text) as Document)
      for (const path of [
        '/docs',
        '/docs/assets/docs.js',
        '/docs/assets/none',
        '/problems',
        '/problems/deal-held',
        '/problems/none',
      ]) {
        for (const accept of ['text/html', 'application/json']) {
          checker.expectDescribed('GET', path, await server.send(path, { headers: { accept } }))
        }
      }
    }
  })

  it.each(['none', '%3Cscript%3Ealert(1)%3C%2Fscript%3E', '"><b>', '__proto__', '%', '%ff', '%00', 'deal-held/x'])(
    'are not there for an unknown code, which no answer repeats: %s',
    async (code) => {
      for (const accept of ['text/html', 'application/json']) {
        const reply = await stack.deal.send(`/problems/${code}`, { headers: { accept } })
        expectProblem(reply, 404, 'not-found')
        expect(reply.text).not.toMatch(/<script|<b>|__proto__/)
      }
    },
  )
})

describeEmbedded('the pages of servers without sessions, with 401 for expired tokens', (openBackend) => {
  beforeAll(async () => {
    const environment = { AUTH_SCHEMES: 'bearer,basic', EXPIRED_TOKEN_STATUS: '401' }
    stack = await openStack(openBackend, { environment })
  })
  afterAll(() => stack.close())

  it('sign nobody in', async () => {
    for (const [server, path] of docsPages()) {
      const reply = await server.send(path)
      expectStrictPage(reply)
      expect(reply.text).not.toMatch(/<form|id="sign-in"/)
      expect(policyOf(reply)['form-action']).toBe("'none'")
    }
  })

  it('show the status that is answered', async () => {
    for (const server of [stack.auth, stack.deal]) {
      expect((await server.send('/problems/token-expired')).text).toContain('<dd>401 Unauthorized</dd>')
    }
  })
})
