/** The form for a new user. */

import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthVisit } from '../frame/auth-api.ts'
import { allChosen, Checkboxes } from '../frame/choices.tsx'
import type { ShownPage } from '../frame/console.tsx'
import { Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import { doneAt, fieldTextOf } from '../parts/forms.ts'
import { chosenRights, RightsFields } from '../parts/rights.tsx'
import { creationPage } from './forms.tsx'
import { type Role, rolesOf, type User, userPath, usersPath, usersRight } from './user-parts.tsx'

/** `POST /account/users`. */
export const createUserPage = (): AuthPage => ({
  methods: ['POST'],
  path: usersPath,
  right: usersRight,
  render: async (visit) => {
    const { api, form } = visit
    const reply = await api.call('POST /users', {
      body: {
        username: form.get('username') ?? '',
        password: form.get('password') ?? '',
        ...sentProfile(form),
        roles: chosenRoles(form),
        rights: chosenRights(form),
        enabled: form.get('enabled') === 'true',
      },
    })
    if (reply.ok) return doneAt(userPath(reply.body.username), 'user-created')
    return newUserForm(visit, atFields(reply.problem))
  },
})

interface GrantFieldsProps {
  /** All roles. */
  readonly offered: readonly Role[]
  readonly roles: readonly string[]
  readonly rights: readonly string[]
  readonly errors: Readonly<Record<string, string>>
}

/** What errors of the name and the address lead to. */
export const profileFields: readonly FieldProps[] = [
  { name: 'displayName', label: 'Name', hint: 'As people write it.', maxLength: 100, autocomplete: 'off' },
  { name: 'email', label: 'E-mail address', maxLength: 254, autocomplete: 'off' },
  {
    name: 'emailVerified',
    label: 'The address is verified: it is that of the user',
    hint: 'After a change of the address, save that first, and tick this then.',
    kind: 'checkbox',
  },
]

interface ProfileFieldsProps {
  readonly value: (name: string) => string | undefined
  readonly errors: Readonly<Record<string, string>>
}

/** Fields of the name and the address of a user. */
export const ProfileFields = ({ value, errors }: ProfileFieldsProps) => (
  <>
    {profileFields.map((field) => (
      <Field {...field} value={value(field.name)} error={errors[field.name]} />
    ))}
  </>
)

/**
 * The name and the address in a form; null for an empty field. The tick of the address before is not one of the
 * address that takes its place.
 */
export function sentProfile(form: ReadonlyMap<string, string>, before?: Pick<User, 'email' | 'emailVerified'>) {
  const email = fieldTextOf(form, 'email') ?? null
  const isOldTick = before?.emailVerified === true && email !== before.email
  return {
    displayName: fieldTextOf(form, 'displayName') ?? null,
    email,
    emailVerified: form.get('emailVerified') === 'true' && !isOldTick,
  }
}

/** Checkboxes of the roles and the direct rights of a user. */
export function GrantFields({ offered, roles, rights, errors }: GrantFieldsProps) {
  const choices = offered.map(({ name, description }) => ({ value: name, text: name, hint: description }))
  // The role `admin` has all rights.
  const allRights = new Set(offered.flatMap((role) => role.rights))
  return (
    <>
      <Checkboxes name="roles" legend="Roles" chosen={roles} error={errors.roles} groups={[{ title: '', choices }]} />
      <details open={rights.length > 0 || errors.rights !== undefined}>
        <summary>Direct rights</summary>
        <RightsFields
          legend="Direct rights"
          hint="Beside those of the roles. You can give and take away only rights that you have."
          offered={allRights}
          chosen={rights}
          error={errors.rights}
        />
      </details>
    </>
  )
}

/** The roles that were chosen. */
export const chosenRoles = (form: ReadonlyMap<string, string>): string[] => allChosen(form, 'roles')

const fields: readonly FieldProps[] = [
  {
    name: 'username',
    label: 'User name',
    hint: '1 to 64 letters, digits or any of . _ @ -',
    isRequired: true,
    maxLength: 64,
  },
  {
    name: 'password',
    label: 'First password',
    kind: 'password',
    hint: 'At least 8 characters, and not one that is known from breaches. Let the user change it.',
    isRequired: true,
  },
]

/** The page with the form, and with the problem of the form that was sent. */
export async function newUserForm(visit: AuthVisit, problem?: ProblemDocument): Promise<ShownPage> {
  const { form } = visit
  const offered = await rolesOf(visit)
  const errors = fieldErrors(problem)
  const all = [
    ...fields,
    ...profileFields,
    { name: 'roles', label: 'Roles' },
    { name: 'rights', label: 'Direct rights' },
  ]
  return creationPage(
    { title: 'Create a user', list: usersPath, fields: all },
    problem,
    <>
      {fields.map((field) => (
        <Field
          {...field}
          value={form.get(field.name)}
          error={errors[field.name]}
          autocomplete={field.kind === 'password' ? 'new-password' : 'off'}
        />
      ))}
      <ProfileFields value={(name) => form.get(name)} errors={errors} />
      <GrantFields offered={offered} roles={chosenRoles(form)} rights={chosenRights(form)} errors={errors} />
      <Field
        name="enabled"
        label="Can sign in"
        kind="checkbox"
        value={problem === undefined ? 'true' : form.get('enabled')}
      />
    </>,
  )
}
