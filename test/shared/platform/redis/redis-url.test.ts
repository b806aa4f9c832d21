import { describe, expect, it } from 'vitest'
import { parseRedisUrl } from '../../../../shared/platform/redis/redis-url.ts'

describe('the address of Redis', () => {
  it('is one server without a comma', () => {
    expect(parseRedisUrl('redis://cache.example')).toEqual({
      cluster: false,
      nodes: [{ host: 'cache.example', port: 6379, tls: false, db: 0 }],
    })
  })

  it('carries TLS, credentials in percent-encoding and the number of a database', () => {
    expect(parseRedisUrl('rediss://user:p%40ss@[::1]:7000/3')).toEqual({
      cluster: false,
      nodes: [{ host: '::1', port: 7000, tls: true, username: 'user', password: 'p@ss', db: 3 }],
    })
  })

  it('is a Cluster with a comma, whose later nodes need no scheme', () => {
    const { cluster, nodes } = parseRedisUrl('redis://a:7000, redis://b:7001,c:7002')
    expect(cluster).toBe(true)
    expect(nodes.map(({ host, port }) => `${host}:${port}`)).toEqual(['a:7000', 'b:7001', 'c:7002'])
  })

  it('is a Cluster of one known node when a comma follows it', () => {
    expect(parseRedisUrl('redis://a,')).toMatchObject({ cluster: true, nodes: [{ host: 'a' }] })
  })

  it.each([
    '',
    ',',
    'cache:6379',
    'http://s3cret@a',
    'redis://',
    'redis://:s3cret@',
    'redis://a:s3cret',
    'redis://a/s3cret',
    'redis://:%s3cret@a',
  ])('refuses %j without repeating it', (url) => {
    expect(() => parseRedisUrl(url)).toThrow(/^the address of Redis must be /)
    expect(() => parseRedisUrl(url)).not.toThrow(/s3cret/)
  })
})
