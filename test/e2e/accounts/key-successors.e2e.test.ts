/**
 * A key that nobody has heard of takes over, and auth servers notice at different times: nobody refuses the first token
 * that is made with it.
 */
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readKeyRing } from '../../../auth-server/key-ring/operate-key-ring.ts'
import { basicOf, type MadeKey, makeApiKey, postForm } from '../../support/clients/oauth-requests.ts'
import { type AuthProcess, startAuthProcess } from '../../support/processes/auth-process.ts'
import { type Operator, startOperator } from '../../support/processes/operators/operator.ts'
import { copyKeys } from '../../support/processes/own-keys.ts'
import { createBalancer } from '../../support/processes/proxies/balancer.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'

const pace = { speed: 1, tokenLifeMs: 1_800_000, maxAgeMs: 86_400_000 }

describePostgresAndRedis('the instant successor of a revoked key', (openBackend) => {
  const balancer = createBalancer()
  let keys: Awaited<ReturnType<typeof copyKeys>>
  let stack: Stack
  /** In processes of their own, as in operation: in one they would look at the folder at the same moments. */
  let other: AuthProcess
  let operator: Operator
  let auths: readonly TestServer[]
  let key: MadeKey

  beforeAll(async () => {
    keys = await copyKeys()
    const dealServer = () => ({ fetch: balancer.fetch })
    stack = await openStack(openBackend, {
      hashing: 'costly',
      dealServers: 2,
      dealServer,
      environment: { KEYS_DIR: keys.directory },
    })
    other = await startAuthProcess(stack)
    auths = [stack.auth, other.server]
    balancer.spreadOver(auths.map(({ url }) => url))
    operator = startOperator({ directory: keys.directory, ...pace })
    key = await makeApiKey(stack, (await stack.logIn('bob')).access, { kind: 'hmac' })
  })
  afterAll(async () => {
    await operator.end()
    await other.child.end('SIGTERM')
    await stack.close()
    await keys.remove()
  })

  const activeKid = async (): Promise<string> => {
    const ring = await readKeyRing(keys)
    return ring.keys.find(({ use, state }) => use === 'jwt' && state === 'active')?.kid ?? ''
  }

  /** The first token that is not made with this key, by whichever server notices first. */
  async function firstAfter(former: string): Promise<string> {
    for (;;) {
      for (const auth of auths) {
        const form = { grant_type: 'client_credentials' }
        const { body, text } = await postForm({ ...stack, auth }, '/oauth/token', form, basicOf(key.id, key.secret))
        if (typeof body.access_token !== 'string') throw new Error(text)
        if (decodeProtectedHeader(body.access_token).kid !== former) return body.access_token
      }
    }
  }

  const statuses = (token: string) =>
    Promise.all([
      ...auths.map(async ({ send }) => (await send('/me', { token })).status),
      ...stack.deals.map(async ({ send }) => (await send('/rest/v1/deals', { token })).status),
    ])

  it('has its tokens accepted by every server from the first on', async () => {
    for (let round = 0; round < 6; round += 1) {
      const former = await activeKid()
      const [token] = await Promise.all([firstAfter(former), operator.revoke(former)])
      expect(await statuses(token)).toEqual([200, 200, 200, 200])
    }
  })
})
