/** The second step of signing in: a code or a passkey, or the set-up that a role demands. Codes need no script. */

import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { signInPath } from '../../shared/server/pages/page-paths.ts'
import { atFields } from '../frame/at-fields.ts'
import type { ShownPage } from '../frame/console.tsx'
import { ErrorSummary, Field, fieldErrors } from '../frame/fields.tsx'
import { SetUpSecret, totpOf } from '../parts/set-up-secret.tsx'

/** The refused form, and where it goes. */
interface FactorStep {
  readonly authOrigin: string
  readonly returnTo: string
  readonly problem: ProblemDocument
  /** The challenge that the refused form answered. */
  readonly answered: string | undefined
}

const asking: ReadonlySet<string> = new Set(['second-factor-required', 'second-factor-enrolment-required'])
const refusing: ReadonlySet<string> = new Set(['invalid-second-factor', 'too-many-attempts', 'invalid-body'])

/** The page that asks for the factor; undefined when the refusal is not about one. */
export function factorPage(step: FactorStep): ShownPage | undefined {
  const { problem, answered } = step
  const asked = asking.has(problem.code)
  const challenge = asked ? String(problem.challenge) : refusing.has(problem.code) ? answered : undefined
  if (challenge === undefined) return undefined
  const { uri } = (problem.totp ?? {}) as { readonly uri?: string }
  const totp = totpOf(uri)
  const title = totp ? 'Set up a second factor' : 'Second factor'
  const hidden = { challenge, returnTo: step.returnTo, action: `${step.authOrigin}/sessions` }
  return {
    title,
    status: problem.status,
    scripts: ['second-factor.js', 'secret.js'],
    content: (
      <div class="narrow">
        <h1>{title}</h1>
        <p>
          {totp
            ? 'Your role needs a second factor. Add this secret to an authenticator app, and enter its first code.'
            : 'The password is right. Now enter a code.'}
        </p>
        {totp && <SetUpSecret {...totp} />}
        <CodeForm {...hidden} problem={asked ? undefined : atFields(problem, atCode)} />
        {problem.publicKey !== undefined && <PasskeyForm {...hidden} publicKey={JSON.stringify(problem.publicKey)} />}
        <p>
          <a href={`${signInPath}?${new URLSearchParams({ return_to: step.returnTo })}`}>Begin again</a>
        </p>
      </div>
    ),
  }
}

const atCode = { 'invalid-second-factor': 'code', 'too-many-attempts': 'code' }

interface FormProps {
  readonly action: string
  readonly challenge: string
  readonly returnTo: string
}

function CodeForm({
  action,
  challenge,
  returnTo,
  problem,
}: FormProps & { readonly problem?: ProblemDocument | undefined }) {
  const { code } = fieldErrors(problem)
  return (
    <>
      <ErrorSummary problem={problem} fields={[{ name: 'code', label: 'Code of the app, or a recovery code' }]} />
      <form method="post" action={action} class="stack">
        <input type="hidden" name="return_to" value={returnTo} />
        <input type="hidden" name="challenge" value={challenge} />
        <Field
          name="code"
          label="Code of the app, or a recovery code"
          isRequired
          maxLength={100}
          error={code}
          isAutofocused
          autocomplete="one-time-code"
        />
        <button type="submit">Sign in</button>
      </form>
    </>
  )
}

/** Hidden where scripts do not run. */
function PasskeyForm({ action, challenge, returnTo, publicKey }: FormProps & { readonly publicKey: string }) {
  return (
    <form method="post" action={action} class="stack" data-kind="get" data-public-key={publicKey} hidden>
      <input type="hidden" name="return_to" value={returnTo} />
      <input type="hidden" name="challenge" value={challenge} />
      <input type="hidden" name="passkey" value="" />
      <button type="submit" class="quiet">
        Use a passkey
      </button>
      <p class="hint" role="status" data-failed="The browser gave no passkey. Try again, or enter a code." />
    </form>
  )
}
