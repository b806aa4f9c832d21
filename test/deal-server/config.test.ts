import { describe, expect, it } from 'vitest'
import { readDealConfig } from '../../deal-server/config.ts'

const problemsOf = (environment: Readonly<Record<string, string>>) =>
  readDealConfig('together', environment).problems.filter(({ variable }) => variable === 'DEAL_READ_URL')

describe('DEAL_READ_URL', () => {
  it('needs a PostgreSQL server: the embedded database has no replicas', () => {
    expect(problemsOf({ DEAL_READ_URL: 'postgres://a/deals' })).toEqual([
      {
        variable: 'DEAL_READ_URL',
        expected: 'must not be set without DEAL_DATABASE_URL: the embedded database has no replicas',
      },
    ])
    expect(problemsOf({ DEAL_READ_URL: 'postgres://a,b/deals', DEAL_DATABASE_URL: 'postgres://c/deals' })).toEqual([])
  })

  it('refuses a pooler, without a word of the password', () => {
    const urls = {
      DEAL_READ_URL: 'postgres://u:secret@a/deals?pgbouncer=true',
      DEAL_DATABASE_URL: 'postgres://c/deals',
    }
    const problems = problemsOf(urls)
    expect(problems.map(({ expected }) => expected)).toEqual([expect.stringContaining('without pgbouncer')])
    expect(JSON.stringify(problems)).not.toContain('secret')
  })
})

describe('DEAL_SHARDS', () => {
  const problemsWith = (environment: Readonly<Record<string, string>>) =>
    readDealConfig('together', environment).problems.map(({ variable, expected }) => `${variable}: ${expected}`)

  it('is a power of two', () => {
    expect(problemsWith({ DEAL_SHARDS: '3' })).toEqual(['DEAL_SHARDS: expected one of 1, 2, 4, 8, 16, 32, 64'])
    expect(problemsWith({ DEAL_SHARDS: '4', DEAL_DATABASE_URL: 'postgres://c/deals' })).toEqual([])
  })

  it('needs a database that leads to shards, and excludes replicas', () => {
    const [first] = problemsWith({ DEAL_SHARDS: '2' })
    expect(first).toMatch(/^DEAL_SHARDS: must be 1 without DEAL_DATABASE_URL/)
    const both = { DEAL_DATABASE_URL: 'postgres://c/deals', DEAL_READ_URL: 'postgres://a/deals' }
    expect(problemsWith({ DEAL_SHARDS: '2', ...both })).toEqual([
      'DEAL_READ_URL: must not be set beside DEAL_SHARDS: shards are read directly',
    ])
  })
})

describe('ALLOW_INSECURE_HTTP', () => {
  const configWith = (word: string) => {
    const { config, problems } = readDealConfig('together', {
      AUTH_URL: 'http://auth:4000',
      ALLOW_INSECURE_HTTP: word,
    })
    return [config.transport.allowInsecureHttp, problems.map(({ variable }) => variable)]
  }

  it('is for callers and AUTH_URL, for AUTH_URL alone, or for neither', () => {
    expect(configWith('true')).toEqual([true, []])
    expect(configWith('internal')).toEqual([false, []])
    expect(configWith('false')).toEqual([false, ['AUTH_URL']])
    expect(configWith('')).toEqual([false, ['AUTH_URL']])
    expect(configWith('yes')).toEqual([false, ['ALLOW_INSECURE_HTTP', 'AUTH_URL']])
  })
})
