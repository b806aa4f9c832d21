import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  generateKey,
  type KeyRingOperation,
  promoteKey,
  readKeyRing,
  revokeKey,
} from '../../../auth-server/key-ring/operate-key-ring.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { openEvents } from '../../support/clients/event-client.ts'
import { eventually } from '../../support/eventually.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openRingStack, type RingStack } from '../../support/worlds/ring-stack.ts'
import type { Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

describeBackends('changes of the key ring', (openBackend) => {
  let opened: RingStack
  let stack: Stack
  let operation: KeyRingOperation

  beforeAll(async () => {
    opened = await openRingStack(openBackend)
    ;({ stack, operation } = opened)
  })
  afterAll(() => opened.close())

  const activeKid = async () =>
    (await readKeyRing(operation)).keys.find(({ use, state }) => use === 'jwt' && state === 'active')?.kid ?? ''
  const statuses = (token: string) =>
    Promise.all(stack.deals.map(async (deal) => (await deal.send('/rest/v1/deals', { token })).status))
  const kidOf = (token: string): string =>
    JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid

  it('fails no request when a key takes over the moment it was made', async () => {
    const before = (await stack.logIn('bob')).access
    const { kid } = await generateKey(operation, 'jwt')
    await promoteKey(operation, kid, { early: true })
    const started = systemClock.monotonic()
    let token = before
    while (systemClock.monotonic() - started < 5_000 && kidOf(token) !== kid) {
      token = (await stack.logIn('bob')).access
      expect(await statuses(token)).toEqual([200, 200])
      expect(await statuses(before)).toEqual([200, 200])
    }
    expect(kidOf(token)).toBe(kid)
  })

  it('fails no request, and no third party, when another algorithm takes over under load', async () => {
    const jwks = createRemoteJWKSet(new URL(`${stack.auth.url}/.well-known/jwks.json`), { cooldownDuration: 0 })
    const used = new Set<string>()
    let isOver = false
    const callers = Array.from({ length: 4 }, async () => {
      let { refresh } = await stack.logIn('bob')
      while (!isOver) {
        const { body } = await stack.auth.send('/refresh', { method: 'POST', token: refresh })
        const access = String(body.access_token)
        refresh = String(body.refresh_token)
        expect(await statuses(access)).toEqual([200, 200])
        const { protectedHeader } = await jwtVerify(access, jwks, { issuer: stack.auth.url, audience: 'deals' })
        used.add(protectedHeader.alg)
      }
    })
    try {
      for (const jwtAlg of ['ES256', 'EdDSA', 'RS256'] as const) {
        const { kid, alg } = await generateKey({ ...operation, jwtAlg }, 'jwt')
        expect(alg).toBe(jwtAlg)
        await promoteKey(operation, kid, { early: true })
        used.clear()
        await eventually(() => expect([...used]).toContain(jwtAlg))
      }
    } finally {
      isOver = true
      await Promise.all(callers)
    }
  })

  it('lets the tokens of a revoked key die everywhere within a second, streams too, and no others', async () => {
    const kid = await activeKid()
    const token = (await stack.logIn('bob')).access
    expect(kidOf(token)).toBe(kid)
    expect(await statuses(token)).toEqual([200, 200])
    const stream = await openEvents(stack.deal, { token })
    expect(stream.status).toBe(200)
    await revokeKey(operation, kid, 'test')
    const reads = stack.deals.map((deal) => () => deal.send('/rest/v1/deals', { token }))
    await Promise.all(reads.map((read) => withinASecond(read, { from: 200, to: 401 })))
    await stream.until(({ hasEnded }) => hasEnded)
    expect((await stack.auth.send('/me', { token })).status).toBe(401)
    const next = (await stack.logIn('bob')).access
    expect(await statuses(next)).toEqual([200, 200])
  })

  it('publishes what is in the folder at that moment', async () => {
    const { kid } = await generateKey(operation, 'jwt')
    const { body } = await stack.auth.send('/.well-known/jwks.json')
    expect(body.keys).toEqual(expect.arrayContaining([expect.objectContaining({ kid })]))
    const next = await generateKey(operation, 'key-signed')
    expect((await stack.auth.send(`/.well-known/keys/${next.kid}.pem`)).status).toBe(200)
  })

  it('says what state the ring is in, to those who may know', async () => {
    const { access: token } = await stack.logIn('admin')
    const { body } = await stack.auth.send('/keys', { token })
    const items = body.items as { kid: string; use: string; state: string }[]
    expect(items.find(({ kid }) => kid === kidOf(token))).toMatchObject({ use: 'jwt', state: 'active' })
    expect(items.some(({ state }) => state === 'removed')).toBe(true)
    expect(JSON.stringify(items)).not.toContain('.pem')
    expect((await stack.auth.send('/keys', { token: (await stack.logIn('alice')).access })).status).toBe(403)
  })
})
