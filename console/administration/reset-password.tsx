/** The page of a one-time link: a user who has forgotten the password chooses a new one. It needs no caller. */

import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { signInPath } from '../../shared/server/pages/page-paths.ts'
import { newPasswordFields, repeatedPasswordProblem } from '../account/password.tsx'
import { atFields } from '../frame/at-fields.ts'
import type { AuthVisit, OpenAuthPage } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { ErrorSummary, Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import { strings } from '../texts/account.ts'

const path = '/account/reset-password'

/** `/account/reset-password`. A script takes the code out of the fragment of the address. */
export const resetPasswordPage = (): OpenAuthPage => ({
  isOpen: true,
  methods: ['GET', 'POST'],
  path,
  render: async (visit) => {
    const { request, api, form } = visit
    if (request.method !== 'POST') return resetForm(visit)
    const problem = repeatedPasswordProblem(form)
    if (problem) return resetForm(visit, problem)
    const reply = await api.call('POST /password-resets', {
      body: { code: (form.get('code') ?? '').trim(), newPassword: form.get('newPassword') ?? '' },
    })
    if (!reply.ok) return resetForm(visit, atFields(reply.problem, { 'invalid-reset-code': 'code' }))
    return {
      title: 'Choose a new password',
      content: (
        <div class="narrow">
          <h1>Choose a new password</h1>
          <p class="notice" role="status">
            {strings.done['password-reset']}
          </p>
          <p>
            <a class="button" href={signInPath}>
              Sign in
            </a>
          </p>
        </div>
      ),
    }
  },
})

const fields: readonly FieldProps[] = [
  { name: 'code', label: 'Code', isRequired: true, autocomplete: 'off', maxLength: 200 },
  ...newPasswordFields,
]

function resetForm({ form }: Pick<AuthVisit, 'form'>, problem?: ProblemDocument): ShownPage {
  const errors = fieldErrors(problem)
  return {
    title: 'Choose a new password',
    status: problem?.status ?? 200,
    scripts: ['reset-code.js'],
    content: (
      <div class="narrow">
        <h1>Choose a new password</h1>
        <p>An administrator gave you a link or a code.</p>
        <ErrorSummary problem={problem} fields={fields} />
        <form method="post" action={path} class="stack">
          {fields.map((field) => (
            <Field {...field} value={form.get(field.name)} error={errors[field.name]} />
          ))}
          <button type="submit">Set the password</button>
        </form>
      </div>
    ),
  }
}
