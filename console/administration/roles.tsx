/** Roles: the list, the form for a new one, and the page of one. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthVisit } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { type Column, Notice, Table } from '../frame/content.tsx'
import { Field, type FieldParts, fieldErrors } from '../frame/fields.tsx'
import { doneAt, doneText } from '../parts/forms.ts'
import { chosenRights, RightsFields } from '../parts/rights.tsx'
import { administration } from '../texts/administration.ts'
import { changePage, creationPage, problemOfChange, type Refused } from './forms.tsx'
import { removalProblem } from './removal.tsx'
import { unchanged } from './shown-tag.tsx'
import { type Role, rolesOf, usersRight } from './user-parts.tsx'

const { roles: texts } = administration

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
      title: texts.title,
      content: (
        <>
          <div class="head">
            <h1>{texts.title}</h1>
            <a class="button" href={`${rolesPath}?new=yes`}>
              {texts.create}
            </a>
          </div>
          <Notice>{doneText(request)}</Notice>
          <Table caption={texts.title} columns={columns} rows={await rolesOf(visit)} />
        </>
      ),
    }
  },
})

const columns: Column<Role>[] = [
  { title: texts.name, cell: ({ name }) => <a href={rolePath(name)}>{name}</a> },
  { title: texts.description, cell: ({ description }) => description },
  { title: texts.rights, isNumber: true, cell: ({ rights }) => String(rights.length) },
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

const nameField: FieldParts = {
  name: 'name',
  label: texts.name,
  hint: texts.nameHint,
  isRequired: true,
  maxLength: 63,
}
const descriptionField: FieldParts = { name: 'description', label: texts.description, maxLength: 500 }
const fields = [nameField, descriptionField, { name: 'rights', label: texts.rights }]

interface ValueParts {
  readonly values: Pick<Role, 'description' | 'rights'>
  readonly offered: Iterable<string>
  readonly problem: ProblemDocument | undefined
}

function ValueFields({ values, offered, problem }: ValueParts) {
  const errors = fieldErrors(problem)
  return (
    <>
      <Field {...descriptionField} value={values.description} error={errors.description} />
      <RightsFields
        legend={texts.rights}
        hint={texts.rightsHint}
        offered={offered}
        chosen={values.rights}
        error={errors.rights}
      />
    </>
  )
}

function newRole({ form, caller }: AuthVisit, problem?: ProblemDocument): ShownPage {
  return creationPage(
    { title: texts.create, list: rolesPath, fields },
    problem,
    <>
      <Field {...nameField} value={form.get('name')} error={fieldErrors(problem).name} />
      <ValueFields values={valuesOf(form)} offered={caller.rights} problem={problem} />
    </>,
  )
}

function shownRole({ request, form, caller }: AuthVisit, role: Role, refused?: Refused): ShownPage {
  const problem = problemOfChange(refused)
  return changePage(
    { title: role.name, list: rolesPath, fields, name: role.name, texts, shown: role },
    { request, refused },
    <ValueFields
      values={problem && problem.code !== 'precondition-failed' ? valuesOf(form) : role}
      offered={new Set([...role.rights, ...caller.rights])}
      problem={problem}
    />,
  )
}
