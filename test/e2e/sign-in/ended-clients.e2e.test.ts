import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  askTokens,
  codeOf,
  exchange,
  registerClient,
  signedInBrowser,
} from '../../support/clients/sign-in/applications.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack

describeBackends('what was issued to an application', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  const dealsWith = async (token: unknown) => (await stack.deal.send('/rest/v1/deals', { token: String(token) })).status

  it('ends with the client, at both servers, and no other login ends', async () => {
    const [deleted, other] = [await registerClient(stack), await registerClient(stack)]
    const browser = await signedInBrowser(stack, 'alice')
    const { code, verifier } = await codeOf(browser, deleted)
    const [first, second] = [
      await exchange(stack, deleted, await codeOf(browser, deleted)),
      await exchange(stack, other, await codeOf(browser, other)),
    ]
    expect(await dealsWith(first.body.access_token)).toBe(200)
    const { access: token } = await stack.logIn('admin')
    expect((await stack.auth.send(`/clients/${deleted.id}`, { token, method: 'DELETE' })).status).toBe(204)
    expect(await dealsWith(first.body.access_token)).toBe(401)
    const info = await stack.auth.send('/oauth/userinfo', { token: String(first.body.access_token) })
    expect(info).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    const refresh_token = String(first.body.refresh_token)
    const refreshed = await askTokens(stack, deleted, { grant_type: 'refresh_token', refresh_token })
    expect(refreshed).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    const exchanged = await exchange(stack, deleted, { code, verifier })
    expect(exchanged).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(await dealsWith(second.body.access_token)).toBe(200)
    const { access } = await stack.logIn('alice')
    const { body } = await stack.auth.send('/sessions?limit=100', { token: access })
    const logins = (body.items as { kind: string }[]).filter(({ kind }) => kind === 'login')
    expect(logins).toHaveLength(2)
  })

  it('goes on when its user signs in again in the same browser, and ends with the new session', async () => {
    const client = await registerClient(stack)
    const browser = await signedInBrowser(stack, 'bob')
    const { body } = await exchange(stack, client, await codeOf(browser, client))
    await browser.go('/sessions', { username: 'bob', password: passwordOf('bob') })
    expect(await dealsWith(body.access_token)).not.toBe(401)
    await browser.go('/sessions/current', { _method: 'DELETE' })
    expect(await dealsWith(body.access_token)).toBe(401)
  })

  it('ends when another user signs in in the same browser', async () => {
    const client = await registerClient(stack)
    const browser = await signedInBrowser(stack, 'bob')
    const { body } = await exchange(stack, client, await codeOf(browser, client))
    await browser.go('/sessions', { username: 'carol', password: passwordOf('carol') })
    expect(await dealsWith(body.access_token)).toBe(401)
  })

  it('of one session and client are ten logins at most', async () => {
    const client = await registerClient(stack)
    const browser = await signedInBrowser(stack, 'carol')
    const tokens: unknown[] = []
    for (let count = 0; count < 12; count += 1)
      tokens.push((await exchange(stack, client, await codeOf(browser, client))).body.access_token)
    const statuses = await Promise.all(tokens.map(dealsWith))
    expect(statuses.map((status) => status === 401)).toEqual(tokens.map((_, index) => index < 2))
  })
})
