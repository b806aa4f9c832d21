/** Resource servers: the list, the form for a new one, and the page of one. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthReply, AuthVisit } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { type Column, Notice, Table } from '../frame/content.tsx'
import { Field, type FieldParts, fieldErrors } from '../frame/fields.tsx'
import { doneAt, doneText } from '../parts/forms.ts'
import { administration } from '../texts/administration.ts'
import { changePage, creationPage, problemOfChange, type Refused } from './forms.tsx'
import { removalProblem } from './removal.tsx'
import { unchanged } from './shown-tag.tsx'

type ResourceServer = AuthReply<'GET /resource-servers/:id'>
type Form = AuthVisit['form']

const { resourceServers: texts } = administration

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
      title: texts.title,
      content: (
        <>
          <div class="head">
            <h1>{texts.title}</h1>
            <a class="button" href={`${serversPath}?new=yes`}>
              {texts.create}
            </a>
          </div>
          <Notice>{doneText(request)}</Notice>
          <p class="hint">{texts.intro}</p>
          <Table caption={texts.title} columns={columns} rows={items} />
        </>
      ),
    }
  },
})

const columns: Column<ResourceServer>[] = [
  { title: texts.name, cell: ({ id, name }) => <a href={serverPath(id)}>{name}</a> },
  { title: texts.id, cell: ({ id }) => <code>{id}</code> },
  { title: texts.audience, cell: ({ audience }) => <code>{audience}</code> },
  { title: texts.rights, isNumber: true, cell: ({ rights }) => String(rights.length) },
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

const idField: FieldParts = { name: 'id', label: texts.id, hint: texts.idHint, isRequired: true, maxLength: 63 }
const fields: readonly FieldParts[] = [
  { name: 'name', label: texts.name, isRequired: true, maxLength: 100 },
  { name: 'audience', label: texts.audience, hint: texts.audienceHint, isRequired: true, maxLength: 255 },
  { name: 'readingRights', label: texts.readingRights, kind: 'textarea', hint: texts.rightsHint, maxLength: 50_000 },
  { name: 'rights', label: texts.otherRights, kind: 'textarea', hint: texts.rightsHint, maxLength: 50_000 },
]

interface ValueParts {
  readonly values: { get(name: string): string | undefined }
  readonly problem: ProblemDocument | undefined
}

function ValueFields({ values, problem }: ValueParts) {
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
    { title: texts.create, list: serversPath, fields: [idField, ...fields] },
    problem,
    <>
      <Field {...idField} value={form.get('id')} error={fieldErrors(problem).id} />
      <ValueFields values={form} problem={problem} />
    </>,
  )
}

function shownServer({ request, form }: AuthVisit, server: ResourceServer, refused?: Refused): ShownPage {
  const problem = problemOfChange(refused)
  return changePage(
    { title: server.name, list: serversPath, fields, name: server.id, texts, shown: server },
    { request, refused },
    <ValueFields
      values={problem && problem.code !== 'precondition-failed' ? form : new Map(Object.entries(fieldsOfText(server)))}
      problem={problem}
    />,
  )
}
