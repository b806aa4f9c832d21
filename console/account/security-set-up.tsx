/** The second step of setting a factor up: the first code of an app, or the answer of the browser. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthRoutes, AuthVisit } from '../frame/auth-api.ts'
import type { PageResult, ShownPage } from '../frame/console.tsx'
import { ErrorSummary, Field, fieldErrors } from '../frame/fields.tsx'
import { doneAt, fieldTextOf } from '../parts/forms.ts'
import { SetUpSecret, totpOf } from '../parts/set-up-secret.tsx'

/** The page of the reader's second factors. */
export const securityPath = '/account/security'

/** A set-up that has begun. */
interface Begun {
  readonly challenge: string
  readonly problem?: ProblemDocument | undefined
}

/**
 * The page with the secret for the app. The URI comes back with the form, so that a wrong code shows the page again.
 */
export function totpSetUp({ uri, challenge, problem }: Begun & { readonly uri: string }): ShownPage {
  const totp = totpOf(uri)
  return page(
    'Set up an app',
    problem,
    <>
      {totp && <SetUpSecret {...totp} />}
      <ErrorSummary problem={problem} fields={[{ name: 'code', label: 'Code of the app' }]} />
      <form method="post" action={securityPath} class="stack">
        <input type="hidden" name="action" value="confirm-totp" />
        <input type="hidden" name="challenge" value={challenge} />
        <input type="hidden" name="uri" value={totp?.uri ?? ''} />
        <Field
          name="code"
          label="Code of the app"
          isRequired
          maxLength={100}
          error={fieldErrors(problem).code}
          autocomplete="one-time-code"
        />
        <NameField />
        <button type="submit">Confirm the code</button>
      </form>
    </>,
  )
}

/** The page whose script makes the passkey. */
export const passkeySetUp = ({ publicKey, challenge }: Begun & { readonly publicKey: object }): ShownPage =>
  page(
    'Set up a passkey',
    undefined,
    <>
      <p>Your device proves itself, by its lock or by a security key. This needs JavaScript.</p>
      <form
        method="post"
        action={securityPath}
        class="stack"
        hidden
        data-kind="create"
        data-public-key={JSON.stringify(publicKey)}
      >
        <input type="hidden" name="action" value="confirm-passkey" />
        <input type="hidden" name="challenge" value={challenge} />
        <input type="hidden" name="passkey" value="" />
        <NameField />
        <button type="submit">Make the passkey now</button>
        <p class="hint" role="status" data-failed="The browser made no passkey. Try again." />
      </form>
    </>,
  )

const NameField = () => <Field name="name" label="Name" maxLength={64} />

const page = (title: string, problem: ProblemDocument | undefined, content: ShownPage['content']): ShownPage => ({
  title,
  status: problem?.status ?? 200,
  scripts: ['second-factor.js', 'secret.js'],
  content: (
    <>
      <h1>{title}</h1>
      <section class="panel stack">{content}</section>
      <p>
        <a href={securityPath}>Back to the second factor</a>
      </p>
    </>
  ),
})

/** Sends the answer of the app or of the browser. */
export async function confirmFactor(
  { api, form }: AuthVisit,
  action: 'confirm-totp' | 'confirm-passkey',
): Promise<PageResult> {
  const challenge = form.get('challenge') ?? ''
  const common = { challenge, name: fieldTextOf(form, 'name') }
  const isTotp = action === 'confirm-totp'
  const reply = isTotp
    ? await api.call('POST /me/second-factors/totp/confirm', { body: { ...common, code: form.get('code') ?? '' } })
    : await api.call('POST /me/second-factors/passkeys', { body: { ...common, passkey: passkeyIn(form) } })
  if (reply.ok) return doneAt(securityPath, 'factor-added')
  const problem = atFields(reply.problem, { 'second-factor-not-confirmed': 'code', 'too-many-attempts': 'code' })
  if (isTotp) return totpSetUp({ uri: form.get('uri') ?? '', challenge, problem })
  return page('Set up a passkey', problem, <ErrorSummary problem={problem} fields={[]} />)
}

/** The answer of the browser as the script wrote it. The API checks it, and refuses anything else. */
function passkeyIn(
  form: ReadonlyMap<string, string>,
): AuthRoutes['POST /me/second-factors/passkeys']['body']['passkey'] {
  const text = form.get('passkey') ?? ''
  try {
    return JSON.parse(text)
  } catch {
    return JSON.parse('{}')
  }
}
