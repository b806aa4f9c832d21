/** Resource servers: the list, the form for a new one, and the page of one. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthReply, AuthVisit } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { type Column, Notice, Table } from '../frame/content.tsx'
import { Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import { doneAt, doneText } from '../parts/forms.ts'
import { changePage, creationPage, problemOfChange, type Refused } from './forms.tsx'
import { removalProblem } from './removal.tsx'
import { unchanged } from './shown-tag.tsx'

type ResourceServer = AuthReply<'GET /resource-servers/:id'>
type Form = AuthVisit['form']

const serversRight = 'resource-server.manage'
const serversPath = '/account/resource-servers'
const serverPath = (id: string): string => `${serversPath}/${encodeURIComponent(id)}`

/** `/account/resource-servers`; with `?new`, the form for a new one. */
export const resourceServersPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path: serversPath,
  right: serversRight,
  render: async (visit) => {
    const { request, api, form } = visit
    if (request.method === 'POST') {
      const body = { id: form.get('id') ?? '', ...valuesOf(form) }
      const reply = await api.call('POST /resource-servers', { body })
      return reply.ok ? doneAt(serverPath(reply.body.id), 'server-created') : newServer(visit, atFields(reply.problem))
    }
    if (request.query.has('new')) return newServer(visit)
    const { items } = await api.get('GET /resource-servers')
    return {
      title: 'Resource servers',
      content: (
        <>
          <div class="head">
            <h1>Resource servers</h1>
            <a class="button" href={`${serversPath}?new=yes`}>
              Register a resource server
            </a>
          </div>
          <Notice>{doneText(request)}</Notice>
          <p class="hint">Services whose rights are granted here. The servers of this console are one of them.</p>
          <Table caption="Resource servers" columns={columns} rows={items} />
        </>
      ),
    }
  },
})

const columns: Column<ResourceServer>[] = [
  { title: 'Name', cell: ({ id, name }) => <a href={serverPath(id)}>{name}</a> },
  { title: 'Id', cell: ({ id }) => <code>{id}</code> },
  { title: 'Audience', cell: ({ audience }) => <code>{audience}</code> },
  { title: 'Rights', isNumber: true, cell: ({ rights }) => String(rights.length) },
]

/** `/account/resource-servers/:id`. */
export const resourceServerPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path: `${serversPath}/:id`,
  right: serversRight,
  render: async (visit) => {
    const { request, api, form } = visit
    const path = { id: request.pathParameters.id ?? '' }
    const server = await api.get('GET /resource-servers/:id', { path })
    const action = form.get('action')
    if (action === 'delete') {
      const reply =
        removalProblem(form, server.id) ??
        (await api.call('DELETE /resource-servers/:id', { path, headers: unchanged(form) }))
      return reply.ok
        ? doneAt(serversPath, 'server-deleted')
        : shownServer(visit, server, { action, problem: reply.problem })
    }
    if (action === null || action === undefined) return shownServer(visit, server)
    const reply = await api.call('PATCH /resource-servers/:id', {
      path,
      body: changesOf(form, server),
      headers: unchanged(form),
    })
    return reply.ok
      ? doneAt(serverPath(server.id), 'server-changed')
      : shownServer(visit, server, { action: 'change', problem: atFields(reply.problem) })
  },
})

/** Rights as lines: the name, a blank, the description. */
const linesOf = (rights: ResourceServer['rights'], readsOnly: boolean): string =>
  rights
    .flatMap((right) => (right.readsOnly === readsOnly ? [`${right.name} ${right.description}`.trim()] : []))
    .join('\n')

const rightsIn = (text: string, readsOnly: boolean): ResourceServer['rights'] =>
  text.split('\n').flatMap((line) => {
    const [name = '', ...words] = line.trim().split(/\s+/)
    return name === '' ? [] : [{ name, description: words.join(' '), readsOnly }]
  })

const valuesOf = (form: Form) => ({
  name: form.get('name') ?? '',
  audience: form.get('audience') ?? '',
  rights: [...rightsIn(form.get('readingRights') ?? '', true), ...rightsIn(form.get('rights') ?? '', false)],
})

/** The audience of the pair is a setting: what was not changed is not sent. */
function changesOf(form: Form, { audience }: ResourceServer) {
  const { audience: sent, ...others } = valuesOf(form)
  return sent === audience ? others : { ...others, audience: sent }
}

const fieldsOfText = ({ name, audience, rights }: ResourceServer): Readonly<Record<string, string>> => ({
  name,
  audience,
  readingRights: linesOf(rights, true),
  rights: linesOf(rights, false),
})

const idField: FieldProps = {
  name: 'id',
  label: 'Id',
  hint: '1 to 63 small letters, digits or hyphens',
  isRequired: true,
  maxLength: 63,
}
const fields: readonly FieldProps[] = [
  { name: 'name', label: 'Name', isRequired: true, maxLength: 100 },
  {
    name: 'audience',
    label: 'Audience',
    hint: 'An absolute URI, such as urn:example:invoices. Tokens for the service name it.',
    isRequired: true,
    maxLength: 255,
  },
  {
    name: 'readingRights',
    label: 'Rights that only read',
    kind: 'textarea',
    hint: 'A line for each: its name, such as invoice.approve, a blank, and a description.',
    maxLength: 50_000,
  },
  {
    name: 'rights',
    label: 'Other rights',
    kind: 'textarea',
    hint: 'A line for each: its name, such as invoice.approve, a blank, and a description.',
    maxLength: 50_000,
  },
]

interface ValueProps {
  readonly values: { get(name: string): string | undefined }
  readonly problem: ProblemDocument | undefined
}

function ValueFields({ values, problem }: ValueProps) {
  const errors = fieldErrors(problem)
  return (
    <>
      {fields.map((field) => (
        <Field {...field} value={values.get(field.name)} error={errors[field.name]} autocomplete="off" />
      ))}
    </>
  )
}

function newServer({ form }: AuthVisit, problem?: ProblemDocument): ShownPage {
  return creationPage(
    { title: 'Register a resource server', list: serversPath, fields: [idField, ...fields] },
    problem,
    <>
      <Field {...idField} value={form.get('id')} error={fieldErrors(problem).id} />
      <ValueFields values={form} problem={problem} />
    </>,
  )
}

const removal = {
  title: 'Delete the resource server',
  hint: 'Its rights, services and tokens end within a second. This is for ever.',
}

function shownServer({ request, form }: AuthVisit, server: ResourceServer, refused?: Refused): ShownPage {
  const problem = problemOfChange(refused)
  return changePage(
    {
      title: server.name,
      list: serversPath,
      listTitle: 'Resource servers',
      fields,
      name: server.id,
      removal,
      shown: server,
    },
    { request, refused },
    <ValueFields
      values={problem && problem.code !== 'precondition-failed' ? form : new Map(Object.entries(fieldsOfText(server)))}
      problem={problem}
    />,
  )
}
