import { describe, expect, it } from 'vitest'
import type { BodyStream, StreamBody } from '../../../../shared/platform/http/stream.ts'
import { UserLimits } from '../../../../shared/platform/http/user-limits.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'

const limitsOf = (maxOfUser: number, maxInAll: number) =>
  new UserLimits({ maxOfUser, maxInAll }, (own) => new ProblemError('too-many-streams', `${own}`))
const answer = (body: StreamBody | string) => async () => ({ status: 200, headers: {}, body })
const stream = {} as BodyStream

describe('limits for users', () => {
  it('count each user and all together, and a release only once', () => {
    const limits = limitsOf(2, 3)
    const release = limits.acquire('a')
    limits.acquire('a')
    expect(() => limits.acquire('a')).toThrow('2')
    limits.acquire('b')
    expect(() => limits.acquire('b')).toThrow('undefined')
    release()
    release()
    expect(limits.inAll).toBe(2)
    limits.acquire('a')
    expect(() => limits.acquire('a')).toThrow('2')
  })

  it('count an answer until its body has ended, well or not', async () => {
    const limits = limitsOf(1, 9)
    for (const end of [Promise.resolve(), Promise.reject(new Error('cut off'))]) {
      const { body } = await limits.answer(
        'a',
        answer(() => end),
      )
      await expect(limits.answer('a', answer(''))).rejects.toThrow('1')
      await (body as StreamBody)(stream).catch(() => undefined)
      expect(limits.inAll).toBe(0)
    }
  })

  it('count no answer that was refused, or has come as a whole', async () => {
    const limits = limitsOf(1, 9)
    await expect(limits.answer('a', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    await limits.answer('a', answer('whole'))
    expect(limits.inAll).toBe(0)
  })
})
