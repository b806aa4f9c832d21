/** Services: programs that check callers with the auth server. The list, the form for a new one, the page of one. */
import { type Collection, collectionPages } from '../administration/collection.tsx'
import type { AuthReply } from '../frame/auth-api.ts'
import { Field, type FieldProps } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import { fieldTextOf } from '../parts/forms.ts'
import { programParts, rotationIn } from './programs.tsx'

type Service = AuthReply<'GET /services/:id'>

const path = '/account/services'

const nameField: FieldProps = {
  name: 'name',
  label: 'Name',
  hint: 'Another one than that of each other service.',
  isRequired: true,
  maxLength: 100,
}
const serverField: FieldProps = {
  name: 'resourceServer',
  label: 'Resource server',
  kind: 'select',
  hint: 'The service sees the rights of this one. It cannot be changed later.',
  isRequired: true,
}

const services: Collection<Service> = {
  path,
  right: 'resource-server.manage',
  title: 'Services',
  hint: 'Programs that check callers with this auth server, each with an id and a secret of its own.',
  ...programParts<Service>(path, {
    title: 'Resource server',
    cell: ({ resourceServer }) => <code>{resourceServer}</code>,
  }),
  list: ({ api, request }) => api.get('GET /services', { query: { cursor: request.query.get('cursor') ?? undefined } }),
  read: ({ api }, id) => api.get('GET /services/:id', { path: { id } }),
  create: {
    title: 'Register a service',
    send: ({ api, form }) =>
      api.call('POST /services', {
        body: {
          name: form.get('name') ?? '',
          resourceServer: form.get('resourceServer') ?? '',
          password: fieldTextOf(form, 'password'),
        },
      }),
  },
  rotate: {
    send: ({ api, form }, { id }) => api.call('POST /services/:id/rotate', { path: { id }, body: rotationIn(form) }),
  },
  remove: {
    title: 'Delete the service',
    hint: 'Its secret and its tokens are refused at once. This is for ever.',
    done: 'service-deleted',
    send: ({ api }, { id }) => api.call('DELETE /services/:id', { path: { id } }),
  },
  labels: [nameField, serverField, { name: 'password', label: proofLabel }],
  fields: async ({ api, form }, { errors }) => {
    const { items } = await api.get('GET /resource-servers')
    const options = items.map(({ id, name }) => ({ value: id, text: `${name} (${id})` }))
    return (
      <>
        <Field {...nameField} value={form.get('name')} error={errors.name} />
        <Field {...serverField} options={options} value={form.get('resourceServer')} error={errors.resourceServer} />
        <ProofField error={errors.password} />
      </>
    )
  },
}

/** `/account/services` and `/account/services/:id`. */
export const servicePages = () => collectionPages(services)
