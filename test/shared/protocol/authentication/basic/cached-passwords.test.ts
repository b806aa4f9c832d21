import { describe, expect, it, vi } from 'vitest'
import { ProblemError } from '../../../../../shared/platform/problems/errors.ts'
import type { BasicPorts } from '../../../../../shared/protocol/authentication/basic/basic.ts'
import { cachePasswords } from '../../../../../shared/protocol/authentication/basic/cached-passwords.ts'
import type { Attempt, LoginThrottle } from '../../../../../shared/protocol/authentication/login-throttle.ts'

const user = { username: 'alice', userId: 'id', version: 1 }
const [address, elsewhere] = ['192.0.2.1', '192.0.2.2']
const received = (password = 'right', clientAddress = address) => ({ username: 'Alice', password, clientAddress })

/** `judged`: whom the limits were asked about without a check, and whether it was right. */
function open() {
  const judged: [address: string, isRight: boolean][] = []
  const lockedOut = new Set<string>()
  const noted: Attempt[] = []
  const loginThrottle: Pick<LoginThrottle, 'judge' | 'noteTry'> = {
    judge: (attempt, isRight) => {
      judged.push([attempt.address, isRight])
      const refusal = new ProblemError('too-many-attempts', 'Wait.')
      return lockedOut.has(attempt.address) ? Promise.reject(refusal) : undefined
    },
    noteTry: (attempt) => void noted.push(attempt),
  }
  const verify = vi.fn<BasicPorts['verify']>(async ({ password }) => (password === 'right' ? user : undefined))
  const clock = { now: () => 1, monotonic: () => 1 }
  const passwords = cachePasswords({ verify, loginThrottle, clock, principals: { get: () => undefined } })
  return { passwords, verify, judged, lockedOut, noted }
}

const tooMany = { code: 'too-many-attempts' }

describe('a right password that is remembered', () => {
  it('is answered at once where the limits are open', async () => {
    const { passwords, verify, judged, noted } = open()
    expect(await passwords.verify(received())).toEqual(user)
    expect({ judged, noted }).toEqual({ judged: [], noted: [{ account: 'Alice', address }] })
    expect(passwords.verify(received())).toEqual(user)
    expect({ judged, checks: verify.mock.calls.length }).toEqual({ judged: [[address, true]], checks: 1 })
  })

  it('is refused to a client that is locked out, as a wrong one is', async () => {
    const { passwords, lockedOut } = open()
    await passwords.verify(received())
    lockedOut.add(address)
    await expect(passwords.verify(received())).rejects.toMatchObject(tooMany)
  })

  it('is checked, and counted by the check, for every other address', async () => {
    const { passwords, verify } = open()
    await passwords.verify(received())
    verify.mockRejectedValueOnce(new ProblemError('too-many-attempts', 'Wait.'))
    await expect(passwords.verify(received('right', elsewhere))).rejects.toMatchObject(tooMany)
    expect(await passwords.verify(received('right', elsewhere))).toEqual(user)
    expect(verify).toHaveBeenCalledTimes(3)
  })

  it('is judged for those who share a check under way, wrong ones too', async () => {
    for (const [password, expected] of [
      ['right', user],
      ['wrong', undefined],
    ] as const) {
      const { passwords, verify, judged } = open()
      const answers = await Promise.all([1, 2, 3].map(() => passwords.verify(received(password))))
      expect(answers).toEqual([expected, expected, expected])
      expect(verify).toHaveBeenCalledTimes(1)
      expect(judged).toEqual(Array(2).fill([address, password === 'right']))
    }
  })

  it('is refused to one who was locked out while sharing a check', async () => {
    const { passwords, lockedOut } = open()
    const [first, second] = [passwords.verify(received()), passwords.verify(received())]
    lockedOut.add(address)
    await expect(second).rejects.toMatchObject(tooMany)
    expect(await first).toEqual(user)
  })
})
