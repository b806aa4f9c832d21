import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  generateKey,
  type KeyRingOperation,
  promoteKey,
  revokeKey,
} from '../../../auth-server/key-ring/operate-key-ring.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { openEvents } from '../../support/clients/event-client.ts'
import type { Reply } from '../../support/clients/http-client.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openRingStack, type RingStack } from '../../support/worlds/ring-stack.ts'
import type { Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

describeBackends('changes of the keys of key-signed tokens', (openBackend) => {
  let opened: RingStack
  let stack: Stack
  let operation: KeyRingOperation

  beforeAll(async () => {
    opened = await openRingStack(openBackend)
    ;({ stack, operation } = opened)
  })
  afterAll(() => opened.close())

  const newToken = () => keySignedToken(stack.auth, { username: 'bob' })
  const kidOf = (token: string): string => token.split('.')[1] ?? ''
  /** A request to each server. */
  const asks = (token: string): (() => Promise<Reply>)[] => {
    const headers = keySignedHeaders(token)
    const ofDeals = stack.deals.map((deal) => () => deal.send('/rest/v1/deals', { headers }))
    return [...ofDeals, () => stack.auth.send('/me', { headers })]
  }
  const statuses = async (token: string): Promise<number[]> => {
    const replies = await Promise.all(asks(token).map((ask) => ask()))
    return replies.map(({ status }) => status)
  }

  it('fail no request when a key takes over the moment it was made, of 3072 bits', async () => {
    const before = await newToken()
    const { kid } = await generateKey({ ...operation, bits: 3072 }, 'key-signed')
    await promoteKey(operation, kid, { early: true })
    const started = systemClock.monotonic()
    let token = before
    while (systemClock.monotonic() - started < 5_000 && kidOf(token) !== kid) {
      token = await newToken()
      expect(await statuses(token)).toEqual([200, 200, 200])
      expect(await statuses(before)).toEqual([200, 200, 200])
    }
    expect(kidOf(token)).toBe(kid)
    expect(token.length).toBeGreaterThan(before.length)
  })

  it('let the tokens of a revoked key die everywhere within a second, streams too, and no others', async () => {
    const token = await newToken()
    const { access } = await stack.logIn('bob')
    const stream = await openEvents(stack.deal, { headers: keySignedHeaders(token) })
    expect({ stream: stream.status, others: await statuses(token) }).toEqual({ stream: 200, others: [200, 200, 200] })
    await revokeKey(operation, kidOf(token), 'test')
    await Promise.all(asks(token).map((ask) => withinASecond(ask, { from: 200, to: 401 })))
    await stream.until(({ hasEnded }) => hasEnded)
    expect(await statuses(await newToken())).toEqual([200, 200, 200])
    expect((await stack.deal.send('/rest/v1/deals', { token: access })).status).toBe(200)
  })
})
