import { describe, expect, it } from 'vitest'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'
import { createRefusedAttempts } from '../../../verify/src/asked/refused-attempts.ts'

function open() {
  let time = 0
  const clock = { now: () => time, monotonic: () => time }
  return {
    refused: createRefusedAttempts(clock),
    pass: (ms: number) => {
      time += ms
    },
  }
}

const alice = { account: 'alice', address: '192.0.2.1' }
const tooMany = new ProblemError('too-many-attempts', '', { headers: { 'retry-after': ['5'] } })
const judged = (judge: () => unknown) => {
  try {
    return judge()
  } catch (error) {
    return error
  }
}

describe('attempts that the auth server has refused', () => {
  it('are refused for as long as it said, for this account from this address alone', async () => {
    const { refused, pass } = open()
    expect(refused.judge(alice, true)).toBeUndefined()
    await expect(refused.noting(alice, Promise.reject(tooMany))).rejects.toBe(tooMany)
    expect(judged(() => refused.judge({ ...alice, account: 'Alice' }, true))).toMatchObject({
      code: 'too-many-attempts',
      retryAfterSeconds: 5,
    })
    expect(refused.judge({ ...alice, account: 'bob' }, true)).toBeUndefined()
    expect(refused.judge({ ...alice, address: '192.0.2.2' }, true)).toBeUndefined()
    pass(4_500)
    expect(judged(() => refused.judge(alice, true))).toMatchObject({ retryAfterSeconds: 1 })
    pass(600)
    expect(refused.judge(alice, true)).toBeUndefined()
  })

  it('are not those that it answered otherwise', async () => {
    const { refused } = open()
    expect(await refused.noting(alice, Promise.resolve('right'))).toBe('right')
    const away = new Unavailable('auth-server')
    await expect(refused.noting(alice, Promise.reject(away))).rejects.toBe(away)
    expect(refused.judge(alice, true)).toBeUndefined()
  })
})
