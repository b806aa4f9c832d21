/** Logging in by a browser, which may be on another machine (RFC 8628): so passkeys work too. */
import { setTimeout as pause } from 'node:timers/promises'
import { renderUnicodeCompact } from 'uqr'
import {
  type AuthComponents,
  isProblem,
  type Keyhold,
  KeyholdUnreachable,
  type Tokens,
} from '../../client/src/index.ts'
import { systemClock } from '../../shared/platform/clock.ts'
import { printable } from '../../shared/platform/terminal/printable.ts'
import { commandLineClientId } from '../../shared/protocol/access-token/access-token.ts'

type Begun = AuthComponents['schemas']['DeviceAuthorization']
type Answer = AuthComponents['schemas']['Tokens']

/** By how many seconds the pause between polls grows when the server asks for it, or is away (RFC 8628 §3.5). */
const slowDownSeconds = 5

/**
 * Shows a code, and waits until its user has answered in a browser. @throws KeyholdProblem `access_denied`,
 * `expired_token`; KeyholdUnreachable
 */
export async function logInByBrowser(keyhold: Keyhold, show: (text: string) => void): Promise<Tokens> {
  const post = async (path: string, form: Readonly<Record<string, string>>): Promise<unknown> => {
    const body = new URLSearchParams({ ...form, client_id: commandLineClientId })
    return (await keyhold.fetch('auth', path, { method: 'POST', body })).json()
  }
  const begun = (await post('/oauth/device_authorization', {})) as Begun
  show(instructionsOf(begun))
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: begun.device_code }
  for (let { interval } = begun; ; ) {
    await pause(interval * 1000)
    try {
      const answer = (await post('/oauth/token', form)) as Answer
      const now = systemClock.now()
      return {
        accessToken: answer.access_token,
        refreshToken: answer.refresh_token,
        expiresAt: now + answer.expires_in * 1000,
        refreshExpiresAt: now + answer.refresh_expires_in * 1000,
      }
    } catch (error) {
      if (isProblem(error, 'authorization_pending')) continue
      const isPassing = error instanceof KeyholdUnreachable || isProblem(error, 'slow_down', 'temporarily_unavailable')
      if (!isPassing) throw error
      interval += slowDownSeconds
    }
  }
}

const instructionsOf = ({ verification_uri: page, verification_uri_complete: whole, user_code: code }: Begun): string =>
  `Open ${printable(page)} in a browser, and enter the code

    ${printable(code)}

or scan this:

${renderUnicodeCompact(whole, { border: 2 })}

Waiting for you to allow it. Ctrl-C gives up.
`
