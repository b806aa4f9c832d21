import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { createWithAdmin } from '../../../auth-server/cli/http/admin-client.ts'
import { createHttpClient, segment } from '../../../auth-server/cli/http/http-client.ts'
import { Interrupted, type Terminal } from '../../../shared/platform/terminal/terminal.ts'

const problem = (status: number, members: object, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(members), { status, headers: { 'content-type': 'application/problem+json', ...headers } })

const clientOver = (answer: (url: string, init?: RequestInit) => Response | Promise<Response>) =>
  createHttpClient({ authUrl: 'http://auth.test', fetch: async (url, init) => answer(String(url), init) })

const refusal = async (answer: Response | Error) => {
  const send = clientOver(() => (answer instanceof Error ? Promise.reject(answer) : answer))
  return send({ path: '/users?limit=1', response: z.object({ a: z.string() }) }).catch((error: Error) => [
    error.name,
    error.message,
  ])
}

describe('calls of the auth server', () => {
  it.each<[string, Response | Error, string[]]>([
    [
      'a refusal',
      problem(409, { code: 'last-admin', detail: 'One admin must be left.' }),
      ['OperationError', 'One admin must be left. (last-admin)'],
    ],
    [
      'values that are refused',
      problem(422, {
        code: 'invalid-value',
        detail: 'No.',
        errors: [{ pointer: '/a', code: 'x', message: 'is wrong' }],
      }),
      ['OperationError', 'No. (invalid-value)\n  /a: is wrong'],
    ],
    [
      'too many attempts',
      problem(429, { code: 'too-many-attempts', detail: 'Too many.' }, { 'retry-after': '90' }),
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
      'something else than was asked for',
      new Response('{"a":1}'),
      ['OperationFailed', 'What http://auth.test answers to GET /users is not an answer of this version.'],
    ],
    [
      'a server that is away',
      new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }) }),
      ['OperationFailed', 'The auth server at http://auth.test cannot be reached: ECONNREFUSED.'],
    ],
    [
      'a server that takes too long',
      Object.assign(new Error('aborted'), { name: 'TimeoutError' }),
      ['OperationFailed', 'The auth server at http://auth.test cannot be reached: no answer within 30 s.'],
    ],
  ])('tell of %s', async (_name, answer, told) => {
    expect(await refusal(answer)).toEqual(told)
  })

  it('leave nothing behind on the signal that would end them, and do not begin when it has', async () => {
    const abort = new AbortController()
    const question = { path: '/', response: z.unknown(), signal: abort.signal }
    await clientOver(() => Response.json({}))(question)
    expect(getEventListeners(abort.signal, 'abort')).toEqual([])
    abort.abort(new Interrupted('Interrupted.'))
    const send = clientOver(async (_url, init) => {
      init?.signal?.throwIfAborted()
      return Response.json({})
    })
    await expect(send(question)).rejects.toBeInstanceOf(Interrupted)
  })

  it('carry names and ids as one segment of the path, or not at all', () => {
    expect(segment('a/../b?c#d')).toBe('a%2F..%2Fb%3Fc%23d')
    for (const text of ['', '.', '..']) expect(() => segment(text)).toThrow(/cannot be the name/)
  })
})

describe('work as an administrator', () => {
  const interrupted = () => new AbortController().signal
  const nobody = { isInteractive: false } as Terminal
  const admin = { username: 'admin', password: 'secret', mayTravel: true }

  const serverThat = (answers: Readonly<Record<string, () => Response>>) => {
    const calls: string[] = []
    const send = clientOver((url, init) => {
      const { pathname } = new URL(url)
      calls.push(`${init?.method} ${pathname} ${new Headers(init?.headers).get('authorization') ?? '-'}`)
      return answers[pathname]?.() ?? problem(404, { code: 'not-found', detail: 'No.' })
    })
    return { send, calls }
  }
  const tokens = (name: string) => () => Response.json({ access_token: name, refresh_token: `${name}-refresh` })

  it('logs out when the work fails, and says why the work failed even when that fails too', async () => {
    const { send, calls } = serverThat({ '/login': tokens('one') })
    const withAdmin = createWithAdmin({ send, admin, terminal: nobody, interrupted })
    await expect(withAdmin(() => Promise.reject(new Error('of the work')))).rejects.toThrow('of the work')
    expect(calls).toEqual(['POST /login -', 'POST /logout Bearer one'])
  })

  it('gives up at Ctrl-C, and logs out', async () => {
    const abort = new AbortController()
    const calls: string[] = []
    const send = clientOver((url, init) => {
      const { pathname } = new URL(url)
      calls.push(pathname)
      if (pathname === '/login') return tokens('one')()
      if (pathname === '/logout') return new Response(null, { status: init?.signal?.aborted ? 500 : 204 })
      return new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        abort.abort(new Interrupted('Interrupted.'))
      })
    })
    const withAdmin = createWithAdmin({ send, admin, terminal: nobody, interrupted: () => abort.signal })
    const work = withAdmin((client) => client.send({ path: '/users/a', response: z.unknown() }))
    await expect(work).rejects.toBeInstanceOf(Interrupted)
    expect(calls).toEqual(['/login', '/users/a', '/logout'])
  })

  it('has its token renewed when it expires, and ends with the new one', async () => {
    let asked = 0
    const answer = () =>
      ++asked === 1
        ? problem(400, { code: 'token-expired', detail: 'Expired.' })
        : Response.json({ items: [], nextCursor: null })
    const { send, calls } = serverThat({ '/login': tokens('one'), '/refresh': tokens('two'), '/users': answer })
    const withAdmin = createWithAdmin({ send, admin, terminal: nobody, interrupted })
    expect(await withAdmin((client) => client.listAll('/users', {}, z.unknown()))).toEqual([])
    expect(calls).toEqual([
      'POST /login -',
      'GET /users Bearer one',
      'POST /refresh Bearer one-refresh',
      'GET /users Bearer two',
      'POST /logout Bearer two',
    ])
  })

  it('sends nothing where a password must not travel, or where nobody can say one', async () => {
    const { send, calls } = serverThat({ '/login': tokens('one') })
    for (const wrong of [{ mayTravel: false }, { password: undefined }, { username: undefined }]) {
      const withAdmin = createWithAdmin({ send, admin: { ...admin, ...wrong }, terminal: nobody, interrupted })
      await expect(withAdmin(async () => 1)).rejects.toMatchObject({ name: 'WrongUsage' })
    }
    expect(calls).toEqual([])
  })
})
