import { describe, expect, it } from 'vitest'
import { createFindNearest } from '../../../../../shared/platform/http/server/nearest-route.ts'
import type { Method, Route } from '../../../../../shared/platform/http/server/routes.ts'

const route = (methods: readonly Method[], path: string, isDocumented = true): Route => ({
  methods,
  path,
  ...(isDocumented && { describe: () => [] }),
  handle: () => ({ status: 200, headers: {}, body: null }),
})
const find = createFindNearest([
  route(['GET'], '/'),
  route(['GET', 'POST'], '/things'),
  route(['GET'], '/things/:id'),
  route(['PUT', 'POST'], '/things/:id/start'),
  route(['PUT'], '/things/:id/started'),
  route(['GET'], '/.well-known/keys/:file{.+\\.pem}'),
  route(['GET'], '/find/:kind/:id'),
  route(['GET'], '/hidden', false),
])

describe('the nearest route', () => {
  it.each([
    ['GET', '/thing', 'GET /things'],
    ['DELETE', '/Things', 'GET /things'],
    ['POST', '/tings', 'POST /things'],
    ['PUT', '/things/7/strat', 'PUT /things/{id}/start'],
    ['GET', '/thinsg/7/', 'GET /things/{id}'],
    ['PUT', '/v1/things/7/start', 'PUT /things/{id}/start'],
    ['GET', '/find/it', 'GET /find/{kind}/{id}'],
    ['GET', '/.well-known/key/1.pem', 'GET /.well-known/keys/{file}'],
  ])('of %s %s is %s', (method, path, expected) => expect(find(method, path)).toBe(expected))

  it.each(['/', '/nothing', '/no/such', '/hiden', '/a/b/c/d/e/f/g/h/i', '/xy', `/things/7/${'s'.repeat(1000)}`])(
    'of %s is none',
    (path) => expect(find('GET', path)).toBeUndefined(),
  )

  it('is found in bounded time, whatever the path', () => {
    const long = `/${'x'.repeat(40)}`.repeat(8)
    const started = performance.now()
    for (let n = 0; n < 100; n += 1)
      for (const path of [long, '/a'.repeat(8000), `/${'x'.repeat(16_000)}`]) find('GET', path)
    expect(performance.now() - started).toBeLessThan(2000)
  })
})
