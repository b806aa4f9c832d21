import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isVerifiedRedisUrl, parseRedisUrl } from '../../../../shared/platform/redis/redis-url.ts'

describe('the address of Redis', () => {
  it('is one server without a comma', () => {
    expect(parseRedisUrl('redis://cache.example')).toEqual({
      nodes: [{ host: 'cache.example', port: 6379, tls: false, db: 0 }],
    })
  })

  it('carries TLS, credentials in percent-encoding and the number of a database', () => {
    expect(parseRedisUrl('rediss://user:p%40ss@[::1]:7000/3')).toEqual({
      nodes: [{ host: '::1', port: 7000, tls: true, username: 'user', password: 'p@ss', db: 3 }],
    })
  })

  it.each([
    ['redis://a?db=2', 2],
    ['rediss://u:p@a:1/?db=2', 2],
    ['redis://a/2?db=2', 2],
    ['redis://a/', 0],
    ['redis+sentinel://a/m?db=2&sentinelPassword=p', 2],
  ])('names the number of a database behind its port or as db: %s', (url, db) => {
    expect(parseRedisUrl(url).nodes[0]).toMatchObject({ host: 'a', db })
  })

  it.each([
    ['redis://a/1?db=2', /with one database/],
    ['redis://a,b', /no Redis Cluster, which is not used/],
    ['redis://a/two', /must be redis:/],
    ['redis://a?db=1s3cret', /must be redis:/],
    ['redis://a?family=0', /without family: it may have db$/],
    ['rediss://a?ssl_cert_reqs=none', /without ssl_cert_reqs: /],
    ['redis://a?password=s3cret', /without password: /],
    ['redis+sentinel://a/m?master=s3cret', /without master: it may have db, sentinelUsername, sentinelPassword$/],
    ['redis://:50%s3cret@a', /% that encodes nothing/],
    ['redis://x?s3cret#1@a', /percent-encode/],
    ['redis://x/s3cret@a', /percent-encode/],
    ['redis://:p/s3cret@a', /percent-encoded/],
  ])('says of %s what is wrong', (url, sentence) => {
    expect(() => parseRedisUrl(url)).toThrow(sentence)
    expect(() => parseRedisUrl(url)).not.toThrow(/s3cret/)
  })

  it('is a master that Sentinels watch, with the logins of both', () => {
    const address = parseRedisUrl(
      'rediss+sentinel://user:p%40ss@s1,s2:26380,[::1]:7/my%20master/3?sentinelUsername=u&sentinelPassword=a+b%26c',
    )
    expect(address).toMatchObject({
      master: { name: 'my master', sentinelUsername: 'u', sentinelPassword: 'a+b&c' },
    })
    expect(address.nodes.map(({ host, port }) => [host, port])).toEqual([
      ['s1', 26_379],
      ['s2', 26_380],
      ['::1', 7],
    ])
    for (const node of address.nodes) {
      expect(node).toMatchObject({ tls: true, username: 'user', password: 'p@ss', db: 3 })
    }
    const plain = parseRedisUrl('redis+sentinel://s1/deals')
    expect(plain).toEqual({
      nodes: [{ host: 's1', port: 26_379, tls: false, db: 0 }],
      master: { name: 'deals' },
    })
  })

  it('of Sentinels is read as it was written, whatever hosts and logins there are', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
    const sentinel = fc.record({ host: label, port: fc.integer({ min: 1, max: 65_535 }) })
    const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
    const all = fc.record({
      sentinels: fc.array(sentinel, { minLength: 1, maxLength: 5 }),
      name: word.filter((name) => name !== '.' && name !== '..'),
      password: word,
      sentinelPassword: word,
      db: fc.integer({ min: 0, max: 15 }),
    })
    fc.assert(
      fc.property(all, ({ sentinels, name, password, sentinelPassword, db }) => {
        const hosts = sentinels.map(({ host, port }) => `${host}:${port}`).join(',')
        const [login, master, own] = [password, name, sentinelPassword].map(encodeURIComponent)
        const url = `redis+sentinel://:${login}@${hosts}/${master}/${db}?sentinelPassword=${own}`
        const address = parseRedisUrl(url)
        expect(address.master).toEqual({ name, sentinelPassword })
        expect(address.nodes).toEqual(sentinels.map((node) => ({ ...node, tls: false, password, db })))
      }),
    )
  })

  it('goes unencrypted to other machines where one of the Sentinels is one', () => {
    expect(isVerifiedRedisUrl('redis+sentinel://127.0.0.1,localhost/m')).toBe(true)
    expect(isVerifiedRedisUrl('redis+sentinel://127.0.0.1,s2/m')).toBe(false)
    expect(isVerifiedRedisUrl('rediss+sentinel://s1,s2/m')).toBe(true)
  })

  it.each([
    '',
    ',',
    'redis://a:7000,b:7001,c:s3cret',
    'redis://a,',
    'cache:6379',
    'http://s3cret@a',
    'redis://',
    'redis://:s3cret@',
    'redis://a:s3cret',
    'redis://a/s3cret',
    'redis://:%s3cret@a',
    'redis+sentinel://s3cret',
    'redis+sentinel://s3cret/',
    'redis+sentinel:///s3cret',
    'redis+sentinel://a,,b/s3cret',
    'redis+sentinel://a,/s3cret',
    'redis+sentinel://a:s3cret,b/m',
    'redis+sentinel://a:99999/s3cret',
    'redis+sentinel://a/m/s3cret',
    'redis+sentinel://a/m/1/s3cret',
    'redis+sentinel://a/%s3cret',
    'redis+sentinel://:%s3cret@a/m',
    'redis+sentinel://a/m?password=s3cret',
    'redis+sentinel://a/m?sentinelPassword=s3cret&sentinelPassword=s3cret',
    'redis+sentinel://a/m?sentinelPassword=',
    'redis+sentinel://a/m#s3cret',
    'redis+sentinel://a/m,redis+sentinel://s3cret/m',
  ])('refuses %j without repeating it', (url) => {
    expect(() => parseRedisUrl(url)).toThrow(/^the address of Redis must be /)
    expect(() => parseRedisUrl(url)).not.toThrow(/s3cret/)
  })
})
