/** `keyhold login --device` against both servers, and a browser that allows it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../support/clients/http-client.ts'
import { signedInBrowser } from '../support/clients/sign-in/applications.ts'
import { answerOn, commandLine } from '../support/clients/sign-in/devices.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { runKeyholdWith } from './run-keyhold.ts'

describeEmbedded('keyhold login --device', (openBackend) => {
  let stack: Stack
  let home: string

  beforeAll(async () => {
    stack = await openStack(openBackend)
    home = mkdtempSync(join(tmpdir(), 'keyhold-device-'))
  })
  afterAll(async () => {
    await stack.close()
    rmSync(home, { recursive: true, force: true })
  })

  const run = (line: string, onErrors?: (text: string) => void) => {
    const environment = { XDG_CONFIG_HOME: home, KEYHOLD_AUTH_URL: stack.auth.url, KEYHOLD_DEAL_URL: stack.deal.url }
    return runKeyholdWith(environment, line, onErrors ? { onErrors } : {})
  }
  /** Runs it, and a user answers. */
  const logIn = async (username: string, decision: 'allow' | 'refuse') => {
    let answered: Promise<unknown> | undefined
    const ran = await run('login --device', (shown) => {
      const [userCode] = /[A-Z]{4}-[A-Z]{4}/.exec(shown) ?? []
      if (userCode === undefined) return
      const device = { client: commandLine, deviceCode: '', userCode }
      answered ??= signedInBrowser(stack, username).then((browser) => answerOn(browser, device, decision))
    })
    await answered
    return ran
  }
  const refreshes = (route: string) => stack.logLines.filter((line) => line.includes(`"route":"${route}"`)).length

  it('shows URL, code and QR code, and keeps a login that refreshes as its client', async () => {
    const { code, output, errors } = await logIn('alice', 'allow')
    expect({ code, output }, errors).toEqual({ code: 0, output: 'You are logged in as alice.\n' })
    expect(errors).toMatch(/Open http.*\/account\/device in a browser/)
    expect(errors).toContain('▄')
    const { tokens, ...kept } = JSON.parse(readFileSync(join(home, 'keyhold/default/login.json'), 'utf8'))
    for (const secret of [tokens.accessToken, tokens.refreshToken]) rememberSecret(secret)
    expect(kept).toMatchObject({ username: 'alice', clientId: 'keyhold-cli' })
    const [asClient, plain] = [refreshes('/oauth/token'), refreshes('/refresh')]
    stack.clock.advanceSeconds(3600)
    expect((await run('whoami')).output).toContain('roles   manager')
    expect((await run('whoami')).output).toContain('roles   manager')
    expect([refreshes('/oauth/token') - asClient, refreshes('/refresh') - plain]).toEqual([1, 0])
    expect(await run('logout')).toMatchObject({ code: 0, output: 'alice is logged out.\n' })
  })

  it('says that it was refused', async () => {
    const refused = await logIn('alice', 'refuse')
    expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('(access_denied)') })
  })
})
