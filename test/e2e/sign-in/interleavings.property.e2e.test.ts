/**
 * Random interleavings of what users and applications do: a code makes at most one login, no token is good a second
 * after its end, and a refused request leaves no row.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { registerClient, type TestClient } from '../../support/clients/sign-in/applications.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { Interleaving, type Step } from './interleavings.ts'

const which = fc.nat(7)
const one = <const Kind extends Step['kind'], Members extends object>(
  kind: Kind,
  members: { [Name in keyof Members]: fc.Arbitrary<Members[Name]> },
) => fc.record(members, { noNullPrototype: true }).map((record) => ({ kind, ...record }))

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: one('authorize', { user: which, client: which, stays: fc.boolean() }) },
  { weight: 6, arbitrary: one('exchange', { code: which, times: fc.constantFrom(1, 1, 2, 3) }) },
  {
    weight: 2,
    arbitrary: one('exchange while', { code: which, other: fc.constantFrom('sign out' as const, 'withdraw' as const) }),
  },
  { weight: 4, arbitrary: one('refresh', { login: which }) },
  { weight: 3, arbitrary: one('sign in', { user: which }) },
  { weight: 1, arbitrary: one('sign out', { user: which }) },
  { weight: 2, arbitrary: one('withdraw', { user: which, client: which }) },
  { weight: 1, arbitrary: one('wait', { seconds: fc.constantFrom(5, 30, 70) }) },
  { weight: 1, arbitrary: one('refused', { user: which, code: which }) },
)

/** Both users are signed in, so that most steps find something to do. */
const begun: readonly Step[] = [0, 1].map((user) => ({ kind: 'sign in', user }))

let stack: Stack
let first: TestClient

describeBackends('signing in, in whatever order', (openBackend) => {
  beforeAll(async () => {
    const environment = { LOGIN_FAILURES_PER_ACCOUNT: '1000/60', LOGIN_FAILURES_PER_ADDRESS: '10000/60' }
    stack = await openStack(openBackend, { environment, logLevel: 'silent' })
    first = await registerClient(stack)
  })
  afterAll(() => stack.close())

  it('keeps its promises', async () => {
    const steps = fc.array(step, { minLength: 6, maxLength: 16 })
    const property = fc.asyncProperty(steps, async (random) => {
      const interleaving = await Interleaving.begin(stack, first)
      for (const next of [...begun, ...random]) await interleaving.run(next)
    })
    await fc.assert(property, { numRuns: campaign({ short: 5, long: 500 }), interruptAfterTimeLimit: 600_000 })
  })
})
