import { describe, expect, it } from 'vitest'
import { readAuthConfig } from '../../../../auth-server/config.ts'
import { readDealConfig } from '../../../../deal-server/config.ts'

const secret = 'a secret that is long enough for servers to take'
const databases = { AUTH_DATABASE_URL: 'postgres://d/auth', DEAL_DATABASE_URL: 'postgres://d/deals' }
const secrets = { SERVICE_SECRET: secret, SECRETS_KEY: Buffer.alloc(32, 1).toString('base64url') }

const readers = { auth: readAuthConfig, deal: readDealConfig }
const missing = (server: keyof typeof readers, ...[mode, environment]: Parameters<typeof readAuthConfig>) =>
  readers[server](mode, environment)
    .problems.filter(({ expected }) => /^must be (?:set|1)/.test(expected))
    .map(({ variable, expected }) => `${variable} ${expected}`)

describe('a server that is told too little', () => {
  it('wants its stores where it runs alone', () => {
    const because = 'must be set for a server that runs alone'
    expect(missing('auth', 'alone', {})).toEqual([`AUTH_DATABASE_URL ${because}`, `REDIS_URL ${because}`])
    expect(missing('deal', 'alone', {})).toEqual([`DEAL_DATABASE_URL ${because}`, `REDIS_URL ${because}`])
    expect(missing('auth', 'together', {})).toEqual([])
    expect(missing('deal', 'together', {})).toEqual([])
  })

  it.each(['together', 'alone'] as const)('wants its stores and secrets in production, %s', (mode) => {
    const production = { NODE_ENV: 'production' }
    const names = (server: keyof typeof readers, environment: Readonly<Record<string, string>>) =>
      missing(server, mode, { ...production, ...environment }).map((problem) => problem.split(' ')[0])
    expect(names('auth', {})).toEqual(['AUTH_DATABASE_URL', 'REDIS_URL', 'SERVICE_SECRET', 'SECRETS_KEY'])
    expect(names('deal', {})).toEqual(expect.arrayContaining(['DEAL_DATABASE_URL', 'REDIS_URL', 'SERVICE_SECRET']))
    for (const server of ['auth', 'deal'] as const) {
      expect(names(server, { ...databases, ...secrets, REDIS_URL: 'none' })).toEqual([])
    }
  })

  it('has one worker where two would have to share the memory of one process', () => {
    const two = { ...databases, WORKERS: '2' }
    const withRedis = { ...two, REDIS_URL: 'redis://r' }
    for (const server of ['auth', 'deal'] as const) {
      expect(missing(server, 'together', two)).toEqual([expect.stringMatching(/^WORKERS must be 1 under npm start/)])
      expect(missing(server, 'alone', { ...two, REDIS_URL: 'none' })).toEqual([
        expect.stringMatching(/^WORKERS must be 1 without Redis/),
      ])
      expect(missing(server, 'alone', withRedis)).toEqual([])
    }
  })
})
