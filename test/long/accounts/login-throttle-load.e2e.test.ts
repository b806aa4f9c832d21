/** Many logins at once, which hash for seconds. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { basic, limits, logInAt } from '../../e2e/accounts/login-attempts.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

describeBackends('many logins at once', (openBackend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: limits })
  })
  afterAll(() => stack.close())

  const logIn = logInAt(() => stack)

  it.each(['one user', 'many users'])('lets 64 right logins of %s at once from one address pass', async (of) => {
    const users = of === 'one user' ? ['dave'] : ['admin', 'alice', 'bob', 'carol', 'dave']
    const logins = Array.from({ length: 64 }, (_, at) => {
      const username = users[at % users.length] ?? 'dave'
      return at % 2 === 0
        ? logIn(username, passwordOf(username), '2001:db8::1')
        : stack.deal.send('/rest/v1/deals?limit=1', basic(username, passwordOf(username), '2001:db8::1'))
    })
    const statuses = (await Promise.all(logins)).map(({ status }) => status)
    // Dave may log in, and may not read.
    expect(statuses.filter((status) => status !== 200 && status !== 403)).toEqual([])
  })

  it('is fair to others while one client floods the queue of hashes', async () => {
    const flood = Array.from({ length: 40 }, (_, at) => logIn(`flood-${at}`, 'wrong password', '198.51.100.50'))
    const others = Array.from({ length: 5 }, (_, at) => logIn('dave', passwordOf('dave'), `198.51.100.${60 + at}`))
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual(others.map(() => 200))
    const busy = (await Promise.all(flood)).filter(({ status }) => status !== 401)
    for (const reply of busy) {
      expectProblem(reply, 503, 'unavailable')
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
    }
  })
})
