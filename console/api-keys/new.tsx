/** The page on which an API key is made. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthRoutes, AuthVisit } from '../frame/auth-api.ts'
import { choicesOf, Radios } from '../frame/choices.tsx'
import type { ShownPage } from '../frame/console.tsx'
import { ErrorSummary, Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import { fieldTextOf, formProblem } from '../parts/forms.ts'
import { chosenRights, hasAllRights, ReachFields } from '../parts/rights.tsx'
import { strings } from '../texts/account.ts'
import { allKeysRight, endOfDay, type KeyPlace } from './api-key.ts'
import { KeyFrame, materialShown } from './key-frame.tsx'

const { keys: texts } = strings

type Form = ReadonlyMap<string, string>

/** `/account/api-keys/new` and `/account/all-api-keys/new`. */
export const newApiKeyPage = (place: KeyPlace): AuthPage => ({
  methods: ['GET', 'POST'],
  path: `${place.base}/new`,
  right: place.isOfAll ? allKeysRight : undefined,
  render: async (visit) => {
    const { request, api, form } = visit
    if (request.method !== 'POST') return keyForm(visit, place)
    const problem = problemOf(form)
    if (problem) return keyForm(visit, place, problem)
    const reply = await api.call('POST /api-keys', { body: requestOf(form, place) })
    if (!reply.ok) return keyForm(visit, place, atFields(reply.problem))
    return materialShown('The API key is made', place, reply.body)
  },
})

const isOwnPair = (form: Form) => form.get('material') === 'own'

/** A key of all rights is made only when the reader says so, not when nothing is chosen. */
function problemOf(form: Form): ProblemDocument | undefined {
  const errors = {
    ...(isOwnPair(form) &&
      !fieldTextOf(form, 'publicKeyPem')?.trim() && { publicKeyPem: 'Enter the public key of your pair.' }),
    ...(!hasAllRights(form) &&
      chosenRights(form).length === 0 && { rights: 'Choose at least one right, or let the key do everything.' }),
  }
  return Object.keys(errors).length > 0 ? formProblem(errors) : undefined
}

const requestOf = (form: Form, place: KeyPlace): AuthRoutes['POST /api-keys']['body'] => ({
  kind: form.get('material') === 'hmac' ? 'hmac' : 'rsa',
  ...(place.isOfAll && { username: fieldTextOf(form, 'username') }),
  name: fieldTextOf(form, 'name'),
  ...(isOwnPair(form) && { publicKeyPem: fieldTextOf(form, 'publicKeyPem') }),
  requireBodyHash: form.get('requireBodyHash') === 'true',
  ...(!hasAllRights(form) && { rights: chosenRights(form) }),
  expiresAt: endOfDay(form.get('expiresAt')),
  password: fieldTextOf(form, 'password'),
})

const fields: readonly FieldProps[] = [
  { name: 'username', label: 'Owner' },
  { name: 'name', label: 'Name' },
  { name: 'kind', label: 'What the program signs with' },
  { name: 'publicKeyPem', label: 'Public key (PEM)' },
  { name: 'rights', label: 'Rights' },
  { name: 'expiresAt', label: 'Expires on' },
  { name: 'password', label: proofLabel },
]

function keyForm({ request, form, caller }: AuthVisit, place: KeyPlace, problem?: ProblemDocument): ShownPage {
  const errors = fieldErrors(problem)
  const path = `${place.base}/new`
  return {
    title: 'Make an API key',
    status: problem?.status ?? 200,
    content: (
      <KeyFrame place={place} request={request}>
        <section class="panel form">
          <h2>Make an API key</h2>
          <ErrorSummary problem={problem} fields={fields} />
          <form method="post" action={path} class="stack">
            {place.isOfAll && (
              <Field
                name="username"
                label="Owner"
                hint="The user whose rights the key has. A key for another user carries no right that you lack."
                isRequired
                maxLength={64}
                value={form.get('username') ?? request.query.get('username') ?? ''}
                error={errors.username}
              />
            )}
            <Field
              name="name"
              label="Name"
              hint="What the key is for. At most 100 characters."
              maxLength={100}
              value={form.get('name')}
              error={errors.name}
            />
            <MaterialFields form={form} errors={errors} />
            <ReachFields
              legend="What the key may do"
              texts={texts.reaches}
              isAll={hasAllRights(form)}
              chosen={chosenRights(form)}
              errors={errors}
              offered={caller.rights}
            />
            <UseFields form={form} errors={errors} isFirst={problem === undefined} />
            <ProofField error={errors.password} />
            <p class="actions">
              <button type="submit">Make an API key</button>
              <a href={place.base}>Cancel</a>
            </p>
          </form>
        </section>
      </KeyFrame>
    ),
  }
}

interface PartProps {
  readonly form: Form
  readonly errors: Readonly<Record<string, string>>
}

function MaterialFields({ form, errors }: PartProps) {
  return (
    <>
      <Radios
        name="material"
        legend="What the program signs with"
        choices={choicesOf(texts.materials)}
        error={errors.kind}
        chosen={form.get('material') ?? 'hmac'}
      />
      <div class="only-own">
        <Field
          name="publicKeyPem"
          label="Public key (PEM)"
          kind="textarea"
          maxLength={10_000}
          hint="Only for your own key pair. It begins with -----BEGIN PUBLIC KEY-----."
          value={form.get('publicKeyPem')}
          error={errors.publicKeyPem}
        />
      </div>
    </>
  )
}

function UseFields({ form, errors, isFirst }: PartProps & { readonly isFirst: boolean }) {
  return (
    <>
      <Field
        name="expiresAt"
        label="Expires on"
        kind="date"
        hint="The last day, in UTC. Empty: it does not expire."
        value={form.get('expiresAt')}
        error={errors.expiresAt}
      />
      <Field
        name="requireBodyHash"
        label="Signatures must cover the body"
        kind="checkbox"
        hint="Signatures of requests that change something must bind their method and body. Recommended."
        value={isFirst ? 'true' : form.get('requireBodyHash')}
      />
    </>
  )
}
