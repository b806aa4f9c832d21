/** Devices that sign people in with a stack (RFC 8628). */
import { type Reply, rememberSecret } from '../http-client.ts'
import { askTokens, type SignInStack, type TestClient } from './applications.ts'
import { type Arrival, type Browser, hiddenFields } from './browser.ts'

/** The client that is built in. */
export const commandLine: TestClient = { id: 'keyhold-cli', secret: '', redirectUri: '' }

/** What a device has got. */
export interface TestDevice {
  readonly client: TestClient
  readonly deviceCode: string
  readonly userCode: string
}

/** Asks for a device authorization. */
export const askDevice = (
  stack: SignInStack,
  { id, secret }: TestClient,
  more: Readonly<Record<string, string>> = {},
) =>
  stack.auth.send('/oauth/device_authorization', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: id, ...(secret !== '' && { client_secret: secret }), ...more }).toString(),
  })

/** Begins on a device. */
export async function beginOn(
  stack: SignInStack,
  client: TestClient = commandLine,
  more: Readonly<Record<string, string>> = {},
): Promise<TestDevice> {
  const { status, body, text } = await askDevice(stack, client, more)
  if (status !== 200) throw new Error(text)
  rememberSecret(String(body.device_code))
  return { client, deviceCode: String(body.device_code), userCode: String(body.user_code) }
}

/** A poll. */
export const poll = (stack: SignInStack, { client, deviceCode }: TestDevice): Promise<Reply> =>
  askTokens(stack, client, {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: deviceCode,
  })

/** The page that a code leads to. */
export const pageOf = (browser: Browser, userCode: string): Promise<Arrival> =>
  browser.go(`/account/device?${new URLSearchParams({ user_code: userCode })}`)

/** The answer of a user on that page. */
export async function answerOn(browser: Browser, { userCode }: TestDevice, decision: 'allow' | 'refuse') {
  const { reply } = await pageOf(browser, userCode)
  return browser.go('/oauth/device/decision', { ...hiddenFields(reply.text), decision })
}
