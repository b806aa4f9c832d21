import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isVerifiedDatabaseUrl,
  parseDatabaseUrl,
  serverNameOf,
} from '../../../../shared/platform/postgres/postgres-url.ts'

const serversOf = (url: string) => parseDatabaseUrl(url).servers.map(serverNameOf)

describe('the URL of a database', () => {
  it('names one server, on port 5432 unless it says another', () => {
    expect(parseDatabaseUrl('postgres://u%40:p%23@db.example/my%20deals?application_name=x')).toEqual({
      servers: [{ host: 'db.example', port: 5432, path: undefined, sslMode: 'disable' }],
      target: 'primary',
      isPooled: false,
      login: { user: 'u@', password: 'p#', database: 'my deals' },
      sent: { application_name: 'x' },
      ignored: [],
    })
    expect(serversOf('postgresql://db.example:6432/deals')).toEqual(['db.example:6432'])
    expect(serversOf('postgres:///deals')).toEqual(['localhost:5432'])
  })

  it('names several, each with its own port, of which the primary is used', () => {
    const url = 'postgres://u:p%40,:@a:1,b,[2001:db8::1]:3,%2Frun%2Fpostgresql:4/deals?sslmode=require'
    expect(serversOf(url)).toEqual(['a:1', 'b:5432', '[2001:db8::1]:3', '/run/postgresql/.s.PGSQL.4'])
    const { target, servers, login } = parseDatabaseUrl(url)
    expect(target).toBe('read-write')
    expect(servers.map(({ host, sslMode }) => [host, sslMode])[2]).toEqual(['2001:db8::1', 'require'])
    expect(login).toEqual({ user: 'u', password: 'p@,:', database: 'deals' })
  })

  it.each(['any', 'primary', 'read-write'])('says what is looked for: %s', (target) => {
    for (const hosts of ['a', 'a,b']) {
      const url = `postgres://${hosts}/db?target_session_attrs=${target}`
      expect(parseDatabaseUrl(url)).toMatchObject({ target, sent: {}, ignored: [] })
    }
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
        expect(address.login).toEqual({ user, password, database })
      }),
    )
  })

  it.each([
    'application_name=x',
    'options=-c%20geqo%3Doff',
    'options=endpoint%3Dep-cool-1&application_name=y',
    'plan_cache_mode=auto',
  ])('sends on what PostgreSQL understands: %s', (parameters) => {
    const sent = Object.fromEntries(new URLSearchParams(parameters))
    expect(parseDatabaseUrl(`postgres://a/db?${parameters}`)).toMatchObject({ sent, ignored: [] })
  })

  it.each([
    'connect_timeout=10',
    'connection_limit=5&pool_timeout=10',
    'keepalives=1&keepalives_idle=30&keepalives_interval=10&keepalives_count=3&tcp_user_timeout=0',
    'fallback_application_name=x',
    'channel_binding=prefer&gssencmode=disable&sslsni=1&sslcompression=0&sslnegotiation=postgres',
    'sslmode=verify-full&channel_binding=require&sslrootcert=system',
    'client_encoding=UTF8&replication=false&load_balance_hosts=disable',
    'schema=public&statement_cache_size=0&socketTimeout=30&prepareThreshold=0&tcpKeepAlive=true',
    'supa=base-pooler.x&workaround=supabase-pooler.vercel&uselibpqcompat=true',
    'statement_timeout=100&lock_timeout=1&search_path=evil&TimeZone=Asia/Tokyo&DateStyle=German',
  ])('takes what changes nothing, and says so: %s', (parameters) => {
    const ignored = [...new URLSearchParams(parameters).keys()].filter((name) => name !== 'sslmode')
    expect(parseDatabaseUrl(`postgres://a/db?${parameters}`)).toMatchObject({ sent: {}, ignored })
  })

  it.each([
    ['sslmode=require&channel_binding=require', /parameter channel_binding .*sslmode=verify-full/],
    ['sslmode=verify-full&sslrootcert=/s3cret.pem', /parameter sslrootcert .*NODE_EXTRA_CA_CERTS/],
    ['sslmode=allow', /sslmode one of disable, prefer/],
    ['sslcert=s3cret.pem', /parameter sslcert /],
    ['ssl=true', /parameter ssl .*nothing but sslmode/],
    ['sslaccept=strict', /parameter sslaccept /],
    ['sslnegotiation=direct', /parameter sslnegotiation /],
    ['require_auth=scram-sha-256', /parameter require_auth /],
    ['gssencmode=require', /parameter gssencmode /],
    ['client_encoding=LATIN1', /parameter client_encoding /],
    ['replication=database', /parameter replication /],
    ['target_session_attrs=standby', /target_session_attrs one of/],
    ['pgbouncer=1', /pgbouncer one of/],
    ['user=u&password=s3cret', /parameter user .*before the parameters/],
    ['hostaddr=10.0.0.1', /parameter hostaddr .*each host before its path/],
    ['host=/run/postgresql', /parameter host .*each host before its path.* %2F/],
    ['port=6432', /parameter port .*before the parameters/],
    ['service=x', /parameter service /],
    ['geqo=off', /parameter geqo /],
    ['connection_limit=5&connection_limit=6', /expected connection_limit once/],
    ['s3cret%0A=1', /parameter with such a name /],
  ])('refuses by name what it cannot do: %s', (parameters, sentence) => {
    const parse = () => parseDatabaseUrl(`postgres://u:s3cret@a/db?${parameters}`)
    expect(parse).toThrow(sentence)
    expect(parse).not.toThrow(/s3cret/)
  })

  it.each([
    ['postgres://u:50%s3cret@a/db', /password .*percent-encoded: a % encodes/],
    ['postgres://u:p?s3cret=1&x@a/db', /password .*percent-encoded: an @ or a #/],
    ['postgres://u:5/s3cret@a/db', /password .*percent-encoded: an @ or a #/],
    ['postgres://u:p#s3cret@a/db', /password .*percent-encoded: an @ or a #/],
    ['postgres://a/50%s3cret', /percent-encoded: a % encodes/],
  ])('says of a login that is not encoded what to do: %s', (url, sentence) => {
    expect(() => parseDatabaseUrl(url)).toThrow(sentence)
    expect(() => parseDatabaseUrl(url)).not.toThrow(/s3cret/)
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
    'postgres://s3cret@a/db?host=b',
    'postgres://s3cret@a,b/db?port=1,2,3',
  ])('refuses %j without repeating it', (url) => {
    expect(() => parseDatabaseUrl(url)).toThrow(TypeError)
    expect(() => parseDatabaseUrl(url)).not.toThrow(/s3cret/)
  })
})
