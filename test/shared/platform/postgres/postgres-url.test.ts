import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isDatabaseUrl,
  isReplicaUrl,
  isVerifiedDatabaseUrl,
  nameOf,
  parseDatabaseUrl,
  parseReplicaUrl,
} from '../../../../shared/platform/postgres/postgres-url.ts'

const serversOf = (url: string) => parseDatabaseUrl(url).servers.map(nameOf)

describe('the URL of a database', () => {
  it('names one server, on port 5432 unless it says another', () => {
    expect(parseDatabaseUrl('postgres://u:p@db.example/deals?application_name=x')).toEqual({
      servers: [{ host: 'db.example', port: 5432, path: undefined, sslMode: 'disable' }],
      target: 'primary',
      isPooled: false,
      driverUrl: 'postgres://u:p@localhost/deals?application_name=x',
    })
    expect(serversOf('postgresql://db.example:6432/deals')).toEqual(['db.example:6432'])
    expect(serversOf('postgres:///deals')).toEqual(['localhost:5432'])
  })

  it('names several, each with its own port, of which the primary is used', () => {
    const url = 'postgres://u:p%40,:@a:1,b,[2001:db8::1]:3,%2Frun%2Fpostgresql:4/deals?sslmode=require'
    expect(serversOf(url)).toEqual(['a:1', 'b:5432', '[2001:db8::1]:3', '/run/postgresql/.s.PGSQL.4'])
    const { target, servers, driverUrl } = parseDatabaseUrl(url)
    expect(target).toBe('read-write')
    expect(servers.map(({ host, sslMode }) => [host, sslMode])[2]).toEqual(['2001:db8::1', 'require'])
    expect(driverUrl).toBe('postgres://u:p%40,%3A@localhost/deals?sslmode=require')
  })

  it.each(['any', 'primary', 'read-write'])('says what is looked for: %s', (target) => {
    for (const hosts of ['a', 'a,b']) {
      const url = `postgres://${hosts}/db?target_session_attrs=${target}`
      expect(parseDatabaseUrl(url)).toMatchObject({ target, driverUrl: 'postgres://localhost/db' })
    }
  })

  it('names replicas, of which any state will do, without a pooler and without a state that is looked for', () => {
    expect(parseReplicaUrl('postgres://a:1,b/db?sslmode=require')).toMatchObject({ target: 'any', isPooled: false })
    for (const parameter of ['pgbouncer=true', 'target_session_attrs=any', 'Target_Session_Attrs=primary']) {
      expect(isReplicaUrl(`postgres://u:secret@a,b/db?${parameter}`)).toBe(false)
      expect(() => parseReplicaUrl(`postgres://u:secret@a,b/db?${parameter}`)).toThrow(TypeError)
    }
    expect(isReplicaUrl('http://a/db')).toBe(false)
  })

  it('says whether a pooler stands between', () => {
    expect(parseDatabaseUrl('postgres://a/db?pgbouncer=true')).toMatchObject({ isPooled: true })
    expect(parseDatabaseUrl('postgres://a/db?pgbouncer=false')).toMatchObject({ isPooled: false })
  })

  it('keeps every login, database and list of hosts as it was written', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}[a-z0-9]$/)
    const host = fc.oneof(
      label,
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
    )
    const server = fc.tuple(host, fc.option(fc.integer({ min: 1, max: 65_535 })))
    const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }).filter((text) => !/^\.+$/.test(text))
    const all = fc.tuple(fc.array(server, { minLength: 1, maxLength: 5 }), word, word, word)
    fc.assert(
      fc.property(all, ([servers, user, password, database]) => {
        const hosts = servers.map(([name, port]) => (port === null ? name : `${name}:${port}`)).join(',')
        const [login, secret, path] = [user, password, database].map(encodeURIComponent)
        const address = parseDatabaseUrl(`postgres://${login}:${secret}@${hosts}/${path}`)
        expect(address.servers.map(({ port }) => port)).toEqual(servers.map(([, port]) => port ?? 5432))
        expect(address.servers.map((one) => one.host.includes(':'))).toEqual(
          servers.map(([name]) => name.startsWith('[')),
        )
        const { username, password: kept, pathname } = new URL(address.driverUrl)
        expect([username, kept, pathname.slice(1)].map(decodeURIComponent)).toEqual([user, password, database])
      }),
    )
  })

  it('is verified when each host is on this machine, or has to show a certificate', () => {
    expect(isVerifiedDatabaseUrl('postgres://localhost,127.0.0.1,[::1],%2Frun/db')).toBe(true)
    expect(isVerifiedDatabaseUrl('postgres://localhost,b/db')).toBe(false)
    expect(isVerifiedDatabaseUrl('postgres://a,b/db?sslmode=verify-ca')).toBe(false)
    expect(isVerifiedDatabaseUrl('postgres://a,b/db?sslmode=verify-full')).toBe(true)
  })

  it.each([
    '',
    'mysql://s3cret@a/db',
    'a,b/s3cret',
    'postgres://s3cret@a:x/db',
    'postgres://s3cret@a:0/db',
    'postgres://s3cret@a:65536/db',
    'postgres://s3cret@a:1,b:65536/db',
    'postgres://s3cret@a:1,b:x/db',
    'postgres://s3cret@a,,b/db',
    'postgres://s3cret@,b/db',
    'postgres://s3cret@a,/db',
    'postgres://s3cret@a,:5432/db',
    'postgres://s3cret@a,b:1:2/db',
    'postgres://s3cret@[::1,b/db',
    'postgres://s3cret@[::1]x,b/db',
    'postgres://s3cret@a b,c/db',
    'postgres://%zz-s3cret@a,b/db',
    'postgres://s3cret@a,b/db?target_session_attrs=standby',
    'postgres://s3cret@a,b/db?target_session_attrs=',
    'postgres://s3cret@a,b/db?target_session_attrs=any&target_session_attrs=any',
    'postgres://s3cret@a,b/db?pgbouncer=yes',
    'postgres://s3cret@a,b/db?sslmode=no',
    'postgres://s3cret@a,b/db?sslrootcert=s3cret',
    'postgres://s3cret@/db?host=a,b',
    'postgres://s3cret@a,b/db?port=1,2,3',
  ])('refuses %j without repeating it', (url) => {
    expect(isDatabaseUrl(url)).toBe(false)
    expect(() => parseDatabaseUrl(url)).toThrow(TypeError)
    expect(() => parseDatabaseUrl(url)).not.toThrow(/s3cret/)
  })
})
