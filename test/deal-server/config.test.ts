import { describe, expect, it } from 'vitest'
import { readDealConfig } from '../../deal-server/config.ts'

const problemsWith = (name: string, environment: Readonly<Record<string, string>>) =>
  readDealConfig('together', environment).problems.filter(({ variable }) => variable === name)

describe('DEAL_READ_URL, which is gone,', () => {
  it('is refused with what to do, and without a word of the password', () => {
    const problems = problemsWith('DEAL_READ_URL', { DEAL_READ_URL: 'postgres://u:secret@a/deals' })
    expect(problems).toEqual([
      { variable: 'DEAL_READ_URL', expected: 'must be unset: all reads go to the database of DEAL_DATABASE_URL' },
    ])
  })

  it('may be empty, as any setting that is left out', () => {
    expect(problemsWith('DEAL_READ_URL', { DEAL_READ_URL: ' ' })).toEqual([])
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
