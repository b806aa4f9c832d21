/** Resource servers: the list, the form for a new one, and the page of one. */
import type { AuthReply, AuthVisit } from '../frame/auth-api.ts'
import { Field, type FieldProps } from '../frame/fields.tsx'
import { type Collection, collectionPages } from './collection.tsx'
import { unchanged } from './shown-tag.tsx'

type ResourceServer = AuthReply<'GET /resource-servers/:id'>
type Form = AuthVisit['form']

const path = '/account/resource-servers'

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

const fieldsOfText = ({ name, audience, rights }: ResourceServer): Form =>
  new Map(Object.entries({ name, audience, readingRights: linesOf(rights, true), rights: linesOf(rights, false) }))

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

const resourceServers: Collection<ResourceServer> = {
  path,
  right: 'resource-server.manage',
  title: 'Resource servers',
  hint: 'Services whose rights are granted here. The servers of this console are one of them.',
  columns: () => [
    { title: 'Name', cell: ({ id, name }) => <a href={`${path}/${encodeURIComponent(id)}`}>{name}</a> },
    { title: 'Id', cell: ({ id }) => <code>{id}</code> },
    { title: 'Audience', cell: ({ audience }) => <code>{audience}</code> },
    { title: 'Rights', isNumber: true, cell: ({ rights }) => String(rights.length) },
  ],
  namesOf: ({ name, id }) => ({ title: name, id, typed: id }),
  list: ({ api }) => api.get('GET /resource-servers'),
  read: ({ api }, id) => api.get('GET /resource-servers/:id', { path: { id } }),
  create: {
    title: 'Register a resource server',
    done: 'server-created',
    send: ({ api, form }) =>
      api.call('POST /resource-servers', { body: { id: form.get('id') ?? '', ...valuesOf(form) } }),
  },
  change: {
    done: 'server-changed',
    send: ({ api, form }, server) =>
      api.call('PATCH /resource-servers/:id', {
        path: { id: server.id },
        body: changesOf(form, server),
        headers: unchanged(form),
      }),
  },
  remove: {
    title: 'Delete the resource server',
    hint: 'Its rights, services and tokens end within a second. This is for ever.',
    done: 'server-deleted',
    send: ({ api, form }, { id }) =>
      api.call('DELETE /resource-servers/:id', { path: { id }, headers: unchanged(form) }),
  },
  labels: [idField, ...fields],
  fields: ({ form }, { thing, sent, errors }) => {
    const values = sent || !thing ? form : fieldsOfText(thing)
    return (
      <>
        {[...(thing ? [] : [idField]), ...fields].map((field) => (
          <Field {...field} value={values.get(field.name)} error={errors[field.name]} autocomplete="off" />
        ))}
      </>
    )
  },
}

/** `/account/resource-servers` and `/account/resource-servers/:id`. */
export const resourceServerPages = () => collectionPages(resourceServers)
