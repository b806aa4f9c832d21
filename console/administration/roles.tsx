/** Roles: the list, the form for a new one, and the page of one. */
import type { AuthVisit } from '../frame/auth-api.ts'
import { Field, type FieldProps } from '../frame/fields.tsx'
import { chosenRights, RightsFields } from '../parts/rights.tsx'
import { type Collection, collectionPages } from './collection.tsx'
import { unchanged } from './shown-tag.tsx'
import { type Role, rolesOf, usersRight } from './user-parts.tsx'

const path = '/account/roles'

const valuesOf = (form: AuthVisit['form']) => ({
  description: form.get('description') ?? '',
  rights: chosenRights(form),
})

const nameField: FieldProps = {
  name: 'name',
  label: 'Name',
  hint: '1 to 63 small letters, digits or any of . _ -',
  isRequired: true,
  maxLength: 63,
}
const descriptionField: FieldProps = { name: 'description', label: 'Description', maxLength: 500 }

const roles: Collection<Role> = {
  path,
  right: usersRight,
  title: 'Roles',
  columns: () => [
    { title: 'Name', cell: ({ name }) => <a href={`${path}/${encodeURIComponent(name)}`}>{name}</a> },
    { title: 'Description', cell: ({ description }) => description },
    { title: 'Rights', isNumber: true, cell: ({ rights }) => String(rights.length) },
  ],
  namesOf: ({ name }) => ({ title: name, id: name, typed: name }),
  list: async (visit) => ({ items: await rolesOf(visit) }),
  read: ({ api }, name) => api.get('GET /roles/:name', { path: { name } }),
  create: {
    title: 'Create a role',
    done: 'role-created',
    send: ({ api, form }) => api.call('POST /roles', { body: { name: form.get('name') ?? '', ...valuesOf(form) } }),
  },
  change: {
    done: 'role-changed',
    send: ({ api, form }, { name }) =>
      api.call('PUT /roles/:name', { path: { name }, body: valuesOf(form), headers: unchanged(form) }),
  },
  remove: {
    title: 'Delete the role',
    hint: 'All who have the role lose it, and its rights, within a second. This is for ever.',
    done: 'role-deleted',
    send: ({ api, form }, { name }) => api.call('DELETE /roles/:name', { path: { name }, headers: unchanged(form) }),
  },
  labels: [nameField, descriptionField, { name: 'rights', label: 'Rights' }],
  fields: ({ form, caller }, { thing, sent, errors }) => {
    const values = sent || !thing ? valuesOf(form) : thing
    return (
      <>
        {!thing && <Field {...nameField} value={form.get('name')} error={errors.name} />}
        <Field {...descriptionField} value={values.description} error={errors.description} />
        <RightsFields
          legend="Rights"
          hint="All who have the role get them within a second. You can change only rights that you have yourself."
          offered={new Set([...(thing?.rights ?? []), ...caller.rights])}
          chosen={values.rights}
          error={errors.rights}
        />
      </>
    )
  },
}

/** `/account/roles` and `/account/roles/:id`. */
export const rolePages = () => collectionPages(roles)
