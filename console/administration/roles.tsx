/** Roles: the list, the form for a new one, and the page of one. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthVisit } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { type Column, Notice, Table } from '../frame/content.tsx'
import { Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import { doneAt, doneText } from '../parts/forms.ts'
import { chosenRights, RightsFields } from '../parts/rights.tsx'
import { changePage, creationPage, problemOfChange, type Refused } from './forms.tsx'
import { removalProblem } from './removal.tsx'
import { unchanged } from './shown-tag.tsx'
import { type Role, rolesOf, usersRight } from './user-parts.tsx'

const rolesPath = '/account/roles'
const rolePath = (name: string): string => `${rolesPath}/${encodeURIComponent(name)}`

/** `/account/roles`; with `?new`, the form for a new role. */
export const rolesPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path: rolesPath,
  right: usersRight,
  render: async (visit) => {
    const { request, api, form } = visit
    if (request.method === 'POST') {
      const reply = await api.call('POST /roles', { body: { name: form.get('name') ?? '', ...valuesOf(form) } })
      return reply.ok
        ? doneAt(rolePath(reply.body.name), 'role-created')
        : newRole(visit, atFields(reply.problem, { 'role-exists': 'name' }))
    }
    if (request.query.has('new')) return newRole(visit)
    return {
      title: 'Roles',
      content: (
        <>
          <div class="head">
            <h1>Roles</h1>
            <a class="button" href={`${rolesPath}?new=yes`}>
              Create a role
            </a>
          </div>
          <Notice>{doneText(request)}</Notice>
          <Table caption="Roles" columns={columns} rows={await rolesOf(visit)} />
        </>
      ),
    }
  },
})

const columns: Column<Role>[] = [
  { title: 'Name', cell: ({ name }) => <a href={rolePath(name)}>{name}</a> },
  { title: 'Description', cell: ({ description }) => description },
  { title: 'Rights', isNumber: true, cell: ({ rights }) => String(rights.length) },
]

/** `/account/roles/:name`. */
export const rolePage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path: `${rolesPath}/:name`,
  right: usersRight,
  render: async (visit) => {
    const { request, api, form } = visit
    const path = { name: request.pathParameters.name ?? '' }
    const role = await api.get('GET /roles/:name', { path })
    const action = form.get('action')
    if (action === 'delete') {
      const reply =
        removalProblem(form, role.name) ?? (await api.call('DELETE /roles/:name', { path, headers: unchanged(form) }))
      return reply.ok ? doneAt(rolesPath, 'role-deleted') : shownRole(visit, role, { action, problem: reply.problem })
    }
    if (action === null || action === undefined) return shownRole(visit, role)
    const reply = await api.call('PUT /roles/:name', { path, body: valuesOf(form), headers: unchanged(form) })
    return reply.ok
      ? doneAt(rolePath(role.name), 'role-changed')
      : shownRole(visit, role, { action: 'change', problem: atFields(reply.problem) })
  },
})

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
const fields = [nameField, descriptionField, { name: 'rights', label: 'Rights' }]

interface ValueProps {
  readonly values: Pick<Role, 'description' | 'rights'>
  readonly offered: Iterable<string>
  readonly problem: ProblemDocument | undefined
}

function ValueFields({ values, offered, problem }: ValueProps) {
  const errors = fieldErrors(problem)
  return (
    <>
      <Field {...descriptionField} value={values.description} error={errors.description} />
      <RightsFields
        legend="Rights"
        hint="All who have the role get them within a second. You can change only rights that you have yourself."
        offered={offered}
        chosen={values.rights}
        error={errors.rights}
      />
    </>
  )
}

function newRole({ form, caller }: AuthVisit, problem?: ProblemDocument): ShownPage {
  return creationPage(
    { title: 'Create a role', list: rolesPath, fields },
    problem,
    <>
      <Field {...nameField} value={form.get('name')} error={fieldErrors(problem).name} />
      <ValueFields values={valuesOf(form)} offered={caller.rights} problem={problem} />
    </>,
  )
}

const removal = {
  title: 'Delete the role',
  hint: 'All who have the role lose it, and its rights, within a second. This is for ever.',
}

function shownRole({ request, form, caller }: AuthVisit, role: Role, refused?: Refused): ShownPage {
  const problem = problemOfChange(refused)
  return changePage(
    { title: role.name, list: rolesPath, listTitle: 'Roles', fields, name: role.name, removal, shown: role },
    { request, refused },
    <ValueFields
      values={problem && problem.code !== 'precondition-failed' ? valuesOf(form) : role}
      offered={new Set([...role.rights, ...caller.rights])}
      problem={problem}
    />,
  )
}
