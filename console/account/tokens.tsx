/** The reader's Digest secret and key-signed tokens: each is made here, and shown once. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthReply, AuthVisit } from '../frame/auth-api.ts'
import { Checkboxes, chosenOf } from '../frame/choices.tsx'
import type { PageResult, ShownPage } from '../frame/console.tsx'
import { Facts, Time } from '../frame/content.tsx'
import { ErrorSummary, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import { fieldTextOf, formProblem } from '../parts/forms.ts'
import { ProofForm } from '../parts/proof-form.tsx'
import { shownOnce } from '../parts/show-once.tsx'
import { strings } from '../texts/account.ts'
import { AccountFrame } from './tabs.tsx'

const { tokens: texts } = strings
const path = '/account/tokens'
const back = { path, text: 'Back to tokens and secrets' }

/** Which tokens the server issues. */
export interface ServedTokens {
  readonly keySigned: boolean
}

interface Refused {
  readonly of: 'digest' | 'key-signed'
  readonly problem: ProblemDocument
}

/** `/account/tokens`. */
export const tokensPage = (serves: ServedTokens): AuthPage => ({
  methods: ['GET', 'POST'],
  path,
  render: (visit) => {
    // Only forms have an action.
    const action = visit.form.get('action')
    if (action === 'digest') return makeDigest(visit, serves)
    return action === 'key-signed' && serves.keySigned ? makeToken(visit, serves) : tokenForms(visit, serves)
  },
})

/** The page that shows a new Digest secret. */
export const digestShown = (
  { username, realm, secret }: AuthReply<'PUT /users/:username/digest-secret'>,
  to: { readonly path: string; readonly text: string },
): ShownPage =>
  shownOnce({
    title: 'The Digest secret is made',
    secrets: [{ label: 'Secret', value: secret }],
    back: to,
    children: (
      <Facts
        facts={[
          ['User name, spelt exactly so', username],
          ['Realm', realm],
        ]}
      />
    ),
  })

async function makeDigest(visit: AuthVisit, serves: ServedTokens): Promise<PageResult> {
  const { api, caller, form } = visit
  const reply = await api.call('PUT /users/:username/digest-secret', {
    path: { username: caller.username },
    body: { password: fieldTextOf(form, 'password') },
  })
  if (!reply.ok) return tokenForms(visit, serves, { of: 'digest', problem: atFields(reply.problem) })
  return digestShown(reply.body, back)
}

const parts = (['username', 'ip', 'password'] as const).map((value) => ({ value, ...texts.parts[value] }))

async function makeToken(visit: AuthVisit, serves: ServedTokens): Promise<PageResult> {
  const { api, caller, form, reader } = visit
  const refused = (problem: ProblemDocument) => tokenForms(visit, serves, { of: 'key-signed', problem })
  const password = fieldTextOf(form, 'password')
  if (password === undefined) return refused(formProblem({ password: 'Enter a value.' }))
  const reply = await api.call('POST /key-signed-tokens', {
    body: { username: caller.username, password, include: chosenOf(form, 'include', parts) },
  })
  if (!reply.ok) return refused(atFields(reply.problem))
  const { token, kid, expires_at: expiresAt } = reply.body
  return shownOnce({
    title: 'The key-signed token is made',
    secrets: [{ label: 'Token', value: token }],
    back,
    children: (
      <Facts
        facts={[
          ['Expires', <Time time={new Date(expiresAt * 1000).toISOString()} reader={reader} />],
          ['Signed by the key', <code>{kid}</code>],
        ]}
      />
    ),
  })
}

function tokenForms({ request, form }: AuthVisit, serves: ServedTokens, refused?: Refused): ShownPage {
  const included = refused?.of === 'key-signed' ? chosenOf(form, 'include', parts) : ['username']
  const problemOf = (of: Refused['of']) => (refused?.of === of ? refused.problem : undefined)
  return {
    title: 'Tokens and secrets',
    status: refused?.problem.status ?? 200,
    content: (
      <AccountFrame request={request}>
        <div class="tiles wide">
          <ProofForm
            path={path}
            of="digest"
            title="Digest secret"
            intro="For programs that use HTTP Digest instead of a password. A new secret replaces the one before."
            submit="Make a new Digest secret"
            problem={problemOf('digest')}
          />
          {serves.keySigned && <KeySignedForm problem={problemOf('key-signed')} included={included} />}
        </div>
      </AccountFrame>
    ),
  }
}

interface KeySignedFormProps {
  readonly problem: ProblemDocument | undefined
  readonly included: readonly string[]
}

function KeySignedForm({ problem, included }: KeySignedFormProps) {
  const form = 'key-signed'
  const { include, password } = fieldErrors(problem)
  const fields = [
    { name: 'include', label: 'The token holds', form },
    { name: 'password', label: proofLabel, form },
  ]
  return (
    <section class="panel">
      <h2>Key-signed token</h2>
      <p class="hint">A token that every holder of the public key can verify. It needs your password.</p>
      <ErrorSummary problem={problem} fields={fields} />
      <form method="post" action={path} class="stack">
        <input type="hidden" name="action" value="key-signed" />
        <Checkboxes
          name="include"
          legend="The token holds"
          form={form}
          error={include}
          chosen={included}
          groups={[{ title: '', choices: parts }]}
        />
        <ProofField form={form} error={password} isRequired />
        <button type="submit">Make a token</button>
      </form>
    </section>
  )
}
