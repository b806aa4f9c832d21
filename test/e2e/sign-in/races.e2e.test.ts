import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import {
  answerOf,
  askTokens,
  codeOf,
  exchange,
  newVerifier,
  registerClient,
  requestOf,
  signedInBrowser,
  type TestClient,
} from '../../support/clients/sign-in/applications.ts'
import { type Browser, hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let client: TestClient

describeBackends('ends of logins of applications, beside exchanges and refreshes', (openBackend) => {
  beforeAll(async () => {
    // Refused refreshes count for the one address.
    stack = await openStack(openBackend, { environment: { LOGIN_FAILURES_PER_ADDRESS: '10000/1' } })
    client = await registerClient(stack, { firstParty: false, rights: ['deal.read'] })
  })
  afterAll(() => stack.close())

  const scope = 'openid deal.read'
  const allowedCode = async (browser: Browser) => {
    const { verifier, challenge } = newVerifier()
    const page = await browser.go(`/oauth/authorize?${requestOf(client, { code_challenge: challenge, scope })}`)
    const form = { ...hiddenFields(page.reply.text), decision: 'allow' }
    const { code = '' } = answerOf(
      page.url.startsWith(client.redirectUri) ? page : await browser.go('/oauth/authorize/decision', form),
    )
    return { code, verifier }
  }
  const refresh = (token: unknown) =>
    askTokens(stack, client, { grant_type: 'refresh_token', refresh_token: String(token) })
  const isAlive = async (body: Readonly<Record<string, unknown>>) => {
    const deals = await stack.deal.send('/rest/v1/deals', { token: String(body.access_token) })
    const info = await stack.auth.send('/oauth/userinfo', { token: String(body.access_token) })
    return {
      deals: deals.status === 200,
      info: info.status === 200,
      refresh: (await refresh(body.refresh_token)).status === 200,
    }
  }
  const nothing = { deals: false, info: false, refresh: false }
  const rounds = campaign({ short: 6, long: 300 })

  it('leave nothing alive and answer with no error of the server', async () => {
    const { access: token } = await stack.logIn('alice')
    const withdraw = async () => {
      const { status } = await stack.auth.send(`/consents/${client.id}`, { token, method: 'DELETE' })
      expect(status).toBe(204)
    }
    for (let round = 0; round < rounds; round += 1) {
      const browser = await signedInBrowser(stack, 'alice')
      const before = await exchange(stack, client, await allowedCode(browser))
      const [one, two] = [await allowedCode(browser), await allowedCode(browser)]
      const end =
        round % 3 === 0
          ? () => browser.go('/sessions/current', { _method: 'DELETE' })
          : round % 3 === 1
            ? withdraw
            : async () => {
                await Promise.all([browser.go('/sessions/current', { _method: 'DELETE' }), withdraw()])
              }
      const [first, second, again, refreshed] = await Promise.all([
        exchange(stack, client, one),
        exchange(stack, client, two),
        exchange(stack, client, two),
        refresh(before.body.refresh_token),
        end(),
      ])
      for (const { status, body } of [first, second, again, refreshed]) {
        expect([200, 400]).toContain(status)
        if (status === 200) expect({ round, ...(await isAlive(body)) }).toEqual({ round, ...nothing })
      }
      expect((await exchange(stack, client, one)).status).toBe(400)
      await browser.go('/sessions/current', { _method: 'DELETE' })
    }
  })

  it('of a session that another sign-in replaces go on, or have ended with it', async () => {
    const own = await registerClient(stack)
    const { access: token } = await stack.logIn('bob')
    for (let round = 0; round < rounds; round += 1) {
      const browser = await signedInBrowser(stack, 'bob')
      const { body } = await exchange(stack, own, await codeOf(browser, own))
      const { body: list } = await stack.auth.send('/sessions?limit=100', { token })
      const ids = (list.items as { id: string; kind: string }[]).filter(({ kind }) => kind === 'session')
      const [, ...ends] = await Promise.all([
        browser.go('/sessions', { username: 'bob', password: passwordOf('bob') }),
        ...ids.map(({ id }) => stack.auth.send(`/sessions/${id}`, { token, method: 'DELETE' })),
        askTokens(stack, own, { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }),
      ])
      for (const { status } of ends) expect([200, 204, 400, 404]).toContain(status)
      await browser.go('/sessions/current', { _method: 'DELETE' })
      const info = await stack.auth.send('/oauth/userinfo', { token: String(body.access_token) })
      expect({ round, status: info.status }).toEqual({ round, status: 401 })
      const late = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
      expect({ round, status: (await askTokens(stack, own, late)).status }).toEqual({ round, status: 400 })
    }
  })
})
