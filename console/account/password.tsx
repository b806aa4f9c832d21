/** The page on which readers change their own password. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthVisit } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { ErrorSummary, Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import { doneAt, formProblem } from '../parts/forms.ts'
import { AccountFrame } from './tabs.tsx'

const path = '/account/password'

/** `/account/password`. */
export const passwordPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path,
  render: async (visit) => {
    const { request, api, form, caller } = visit
    if (request.method !== 'POST') return passwordForm(visit)
    const problem = repeatedPasswordProblem(form) ?? (form.get('oldPassword') ? undefined : oldPasswordMissing)
    if (problem) return passwordForm(visit, problem)
    const reply = await api.call('PUT /users/:username/password', {
      path: { username: caller.username },
      body: { oldPassword: form.get('oldPassword'), newPassword: form.get('newPassword') ?? '' },
    })
    if (reply.ok) return doneAt(path, 'password-changed')
    return passwordForm(visit, atFields(reply.problem, { 'wrong-password': 'oldPassword' }))
  },
})

const oldPasswordMissing = formProblem({ oldPassword: 'Enter a value.' })

/** The problem of a new password that is missing, or was not entered twice. */
export function repeatedPasswordProblem(form: ReadonlyMap<string, string>): ProblemDocument | undefined {
  const password = form.get('newPassword') ?? ''
  if (password === '') return formProblem({ newPassword: 'Enter a value.' })
  return form.get('again') === password
    ? undefined
    : formProblem({ again: 'This is not the same as the new password.' })
}

/** The fields of a new password. */
export const newPasswordFields: readonly FieldProps[] = [
  {
    name: 'newPassword',
    label: 'New password',
    hint:
      'At least 8 characters, at most 1024 bytes. Not your user name, not the name of this product, and not one that ' +
      'is known from breaches. A few words in a row are good.',
  },
  { name: 'again', label: 'New password again' },
].map((field) => ({ ...field, kind: 'password', isRequired: true, autocomplete: 'new-password' }))

const fields: readonly FieldProps[] = [
  { name: 'oldPassword', label: 'Old password', kind: 'password', isRequired: true, autocomplete: 'current-password' },
  ...newPasswordFields,
]

function passwordForm({ request, caller }: AuthVisit, problem?: ProblemDocument): ShownPage {
  const errors = fieldErrors(problem)
  return {
    title: 'Change the password',
    status: problem?.status ?? 200,
    content: (
      <AccountFrame request={request}>
        <section class="panel form">
          <h2>Change the password</h2>
          <ErrorSummary problem={problem} fields={fields} />
          <form method="post" action={path} class="stack">
            {/* Programs that keep passwords need the name of the account. */}
            <input hidden readonly name="username" value={caller.username} autocomplete="username" />
            {fields.map((field) => (
              <Field {...field} error={errors[field.name]} />
            ))}
            <p class="hint">Your other sessions and logins end. This one stays.</p>
            <button type="submit">Change the password</button>
          </form>
        </section>
      </AccountFrame>
    ),
  }
}
