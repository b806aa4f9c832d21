/**
 * What the plans Basic OP and Config OP of the OpenID Foundation's conformance suite ask, module by module, for static
 * clients and discovery. Keyhold is not certified: these are tests of our own, after the names and the descriptions of
 * the modules; the suite itself does not run here.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isEverything } from '../../../support/campaign.ts'
import { describeOnce } from '../../../support/stores/backends.ts'
import { openStack, type Stack } from '../../../support/worlds/stack.ts'
import { openWorld, type World } from './flow.ts'
import { basicModules } from './modules.ts'

let stack: Stack

/** Without PKCE the client must send a nonce: so this module would fail. */
const failsWithoutPkce = 'oidcc-ensure-request-without-nonce-succeeds-for-code-flow'

/** Modules about the code and what it is bound by; `npm run test:all` asks all of them without PKCE too. */
const differWithoutPkce = ['oidcc-server', 'oidcc-codereuse', 'oidcc-ensure-request-with-valid-pkce-succeeds']

describeOnce('the conformance suite asks', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    await stack.database.write(`update auth.users set display_name = 'Alice', email = 'alice@example.com'
      where username = 'alice' returning 1 as changed`)
  })
  afterAll(() => stack.close())

  it('in 35 modules, which are not all of the suite: Keyhold is not certified', () => {
    expect(new Set(basicModules.map(({ name }) => name)).size).toBe(35)
    const without = (result: string) => basicModules.filter((one) => one.result === result).map(({ name }) => name)
    expect(without('skipped')).toHaveLength(5)
    expect(without('warning')).toHaveLength(3)
  })

  describe.each([true, false])('of Basic OP, with PKCE: %s', (hasPkce) => {
    let world: World
    beforeAll(async () => {
      world = await openWorld(stack, hasPkce)
    })

    const modules = basicModules.filter(
      ({ name }) => hasPkce || (name !== failsWithoutPkce && (isEverything || differWithoutPkce.includes(name))),
    )
    it.each(modules)('$name ($result)', ({ run }) => run(world))

    const failing = basicModules.filter(({ name }) => !hasPkce && name === failsWithoutPkce)
    it.each(failing)('$name (failed: nothing else would bind the code)', async ({ run }) => {
      await expect(run(world)).rejects.toThrow()
    })
  })

  it('of Config OP: oidcc-discovery-endpoint-verification', async () => {
    const reply = await fetch(`${stack.auth.url}/.well-known/openid-configuration`)
    expect({ status: reply.status, type: reply.headers.get('content-type') }).toEqual({
      status: 200,
      type: 'application/json',
    })
    const metadata = (await reply.json()) as Record<string, unknown>
    expect(metadata).toMatchObject({
      issuer: stack.auth.url,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']),
      scopes_supported: expect.arrayContaining(['openid']),
      claims_supported: expect.arrayContaining(['sub', 'iss', 'auth_time', 'acr']),
      code_challenge_methods_supported: ['S256'],
      grant_types_supported: expect.arrayContaining(['authorization_code']),
      claims_parameter_supported: false,
      request_parameter_supported: false,
      // Left out, it would be true (OpenID Connect Discovery §3).
      request_uri_parameter_supported: false,
    })
    for (const scope of metadata.scopes_supported as string[]) expect(scope).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/)
    // Behind TLS, of which a test has none, all of them are https: they begin with the public origin.
    for (const name of Object.keys(metadata).filter((one) => /_endpoint$|^jwks_uri$/.test(one)))
      expect(String(metadata[name]).startsWith(`${stack.auth.url}/`), name).toBe(true)
    const { keys } = (await (await fetch(String(metadata.jwks_uri))).json()) as { keys: Record<string, unknown>[] }
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys) {
      expect(Object.keys(key).filter((name) => ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].includes(name))).toEqual([])
      expect(key).toMatchObject({ kid: expect.any(String), use: 'sig' })
    }
  })
})
