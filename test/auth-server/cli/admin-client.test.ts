import { describe, expect, it } from 'vitest'
import { allOf, createWithAdmin, segment } from '../../../auth-server/cli/http/admin-client.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { Interrupted, type Terminal } from '../../../shared/platform/terminal/terminal.ts'

const authUrl = 'http://auth.test'
const nobody = { isInteractive: false } as Terminal
const admin = { username: 'admin', password: 'secret', mayTravel: true }
const ports = { authUrl, clock: systemClock, admin, terminal: nobody, interrupted: () => new AbortController().signal }

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

const tokens = (name: string) => () =>
  json({ access_token: name, refresh_token: `${name}-refresh`, expires_in: 1, refresh_expires_in: 1 })

type Answer = (init?: RequestInit) => Response | Promise<Response>

/** A server with these answers by path, and what it was asked. */
function serverThat(answers: Readonly<Record<string, Answer>>) {
  const calls: string[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    init?.signal?.throwIfAborted()
    const { pathname } = new URL(String(url))
    calls.push(`${init?.method} ${pathname} ${new Headers(init?.headers).get('authorization') ?? '-'}`)
    return answers[pathname]?.(init) ?? json({ code: 'not-found', detail: 'No.' }, 404)
  }
  return { fetch, calls }
}

/** What the person reads when `/users/a` answers so. */
async function told(answer: Response | Error, path = '/users/a') {
  const given = () => (answer instanceof Error ? Promise.reject(answer) : answer)
  const { fetch } = serverThat({ '/login': tokens('one'), [path]: given })
  const withAdmin = createWithAdmin({ ...ports, fetch })
  const work = withAdmin(({ auth }) => auth.GET('/users/{username}', { params: { path: { username: 'a' } } }))
  return work.catch((error: Error) => [error.name, error.message])
}

describe('calls of the auth server', () => {
  it.each<[string, Response | Error, string[]]>([
    [
      'a refusal',
      json({ code: 'last-admin', detail: 'One admin must be left.' }, 409),
      ['OperationError', 'One admin must be left. (last-admin)'],
    ],
    [
      'values that are refused',
      json({ code: 'invalid-value', detail: 'No.', errors: [{ pointer: '/a', code: 'x', message: 'is wrong' }] }, 422),
      ['OperationError', 'No. (invalid-value)\n  /a: is wrong'],
    ],
    [
      'too many attempts',
      json({ code: 'too-many-attempts', detail: 'Too many.' }, 429, { 'retry-after': '90' }),
      ['OperationError', 'Too many. (too-many-attempts) Try again in 90 s.'],
    ],
    [
      'a proxy without its server',
      new Response('<html>Bad gateway</html>', { status: 502 }),
      ['OperationFailed', 'http://auth.test answers 502 without saying why: is it the auth server?'],
    ],
    [
      'a redirect, which no credential follows',
      new Response(null, { status: 302, headers: { location: 'http://evil.test' } }),
      ['OperationFailed', 'http://auth.test answers 302 without saying why: is it the auth server?'],
    ],
    [
      'a page in place of an answer',
      new Response('<html>Welcome</html>'),
      ['OperationFailed', 'What http://auth.test answers is not an answer of this version.'],
    ],
    [
      'a server that is away',
      new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }) }),
      ['OperationFailed', 'The auth server at http://auth.test cannot be reached: ECONNREFUSED.'],
    ],
    [
      'a server that takes too long',
      new Error('no answer within 30 s'),
      ['OperationFailed', 'The auth server at http://auth.test cannot be reached: no answer within 30 s.'],
    ],
  ])('tell of %s', async (_name, answer, sentence) => {
    expect(await told(answer)).toEqual(sentence)
  })

  it('tell of something else than the auth server', async () => {
    const sentence = 'What http://auth.test answers is not an answer of this version.'
    expect(await told(json({ a: 1 }), '/login')).toEqual(['OperationFailed', sentence])
    expect(await told(new Response(null, { status: 204 }), '/login')).toEqual(['OperationFailed', sentence])
  })

  it('carry names and ids as one segment of the path, or not at all', async () => {
    const { fetch, calls } = serverThat({ '/login': tokens('one') })
    const username = segment('a/../b?c#d')
    const withAdmin = createWithAdmin({ ...ports, fetch })
    await withAdmin(({ auth }) => auth.GET('/users/{username}', { params: { path: { username } } })).catch(() => {})
    expect(calls[1]).toBe('GET /users/a%2F..%2Fb%3Fc%23d Bearer one')
    for (const text of ['', '.', '..']) expect(() => segment(text)).toThrow(/cannot be the name/)
  })
})

describe('work as an administrator', () => {
  it('logs out when the work fails, and says why the work failed even when that fails too', async () => {
    const { fetch, calls } = serverThat({ '/login': tokens('one') })
    const withAdmin = createWithAdmin({ ...ports, fetch })
    await expect(withAdmin(() => Promise.reject(new Error('of the work')))).rejects.toThrow('of the work')
    expect(calls).toEqual(['POST /login -', 'POST /logout Bearer one-refresh'])
  })

  it('gives up at Ctrl-C, calls nothing more, and logs out', async () => {
    const abort = new AbortController()
    const { fetch, calls } = serverThat({
      '/login': tokens('one'),
      '/logout': (init) => new Response(null, { status: init?.signal?.aborted ? 500 : 204 }),
      '/users': (init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
          abort.abort(new Interrupted('Interrupted.'))
        }),
    })
    const withAdmin = createWithAdmin({ ...ports, fetch, interrupted: () => abort.signal })
    const work = withAdmin(async ({ auth }) => {
      await auth.GET('/users').catch(() => undefined)
      return auth.GET('/users')
    })
    await expect(work).rejects.toBeInstanceOf(Interrupted)
    expect(calls).toEqual(['POST /login -', 'GET /users Bearer one', 'POST /logout Bearer one-refresh'])
  })

  it('has its token renewed when it expires, and ends with the new one', async () => {
    let asked = 0
    const answer = () =>
      ++asked === 1 ? json({ code: 'token-expired', detail: 'Expired.' }, 400) : json({ items: [], nextCursor: null })
    const { fetch, calls } = serverThat({ '/login': tokens('one'), '/refresh': tokens('two'), '/users': answer })
    const withAdmin = createWithAdmin({ ...ports, fetch })
    expect(await withAdmin(({ auth }) => allOf(auth.items('/users')))).toEqual([])
    expect(calls).toEqual([
      'POST /login -',
      'GET /users Bearer one',
      'POST /refresh Bearer one-refresh',
      'GET /users Bearer two',
      'POST /logout Bearer two-refresh',
    ])
  })

  it('sends nothing where a password must not travel, or where nobody can say one', async () => {
    const { fetch, calls } = serverThat({ '/login': tokens('one') })
    for (const wrong of [{ mayTravel: false }, { password: undefined }, { username: undefined }]) {
      const withAdmin = createWithAdmin({ ...ports, fetch, admin: { ...admin, ...wrong } })
      await expect(withAdmin(async () => 1)).rejects.toMatchObject({ name: 'WrongUsage' })
    }
    expect(calls).toEqual([])
  })
})
