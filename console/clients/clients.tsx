/** Clients: applications that sign people in. The list, the form for a new one, and the page of one. */
import { type Collection, collectionPages } from '../administration/collection.tsx'
import type { AuthReply, AuthVisit } from '../frame/auth-api.ts'
import { choicesOf, Radios } from '../frame/choices.tsx'
import { Field, type FieldProps } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import { fieldTextOf, linesIn } from '../parts/forms.ts'
import { chosenRights, hasAllRights, inWords, ReachFields } from '../parts/rights.tsx'
import { strings } from '../texts/account.ts'
import { programParts, rotationIn } from './programs.tsx'

type Client = AuthReply<'GET /clients/:id'>
type Form = AuthVisit['form']

const { clients: texts } = strings
const path = '/account/clients'

const valuesIn = (form: Form) => ({
  name: form.get('name') ?? '',
  redirectUris: linesIn(form, 'redirectUris'),
  postLogoutRedirectUris: linesIn(form, 'postLogoutRedirectUris'),
  firstParty: form.get('firstParty') === 'true',
  rights: hasAllRights(form) ? null : chosenRights(form),
  resourceServers: linesIn(form, 'resourceServers'),
  needsRight: fieldTextOf(form, 'needsRight') ?? null,
  requirePkce: form.get('requirePkce') === 'true',
  mode: (['run', 'propose'] as const).find((mode) => mode === form.get('mode')),
  publicKeyPem: fieldTextOf(form, 'publicKeyPem') ?? null,
  password: fieldTextOf(form, 'password'),
})

/** A client as a form that says the same. */
const formOf = (client: Client): Form =>
  new Map([
    ['name', client.name],
    ['redirectUris', client.redirectUris.join('\n')],
    ['postLogoutRedirectUris', client.postLogoutRedirectUris.join('\n')],
    ['firstParty', String(client.firstParty)],
    ['reach', client.rights === null ? 'all' : 'chosen'],
    ...(client.rights ?? []).map((right): [string, string] => [`rights.${right}`, 'true']),
    ['resourceServers', client.resourceServers.join('\n')],
    ['needsRight', client.needsRight ?? ''],
    ['requirePkce', String(client.requirePkce)],
    ['mode', client.mode],
    ['publicKeyPem', client.publicKeyPem ?? ''],
  ])

/** What the form of a new client says at first. */
const firstForm: Form = new Map([
  ['kind', 'confidential'],
  ['resourceServers', 'deals'],
  ['requirePkce', 'true'],
  ['mode', 'run'],
])

const textarea = { kind: 'textarea', maxLength: 20_000 } as const

const fieldsAbove: readonly FieldProps[] = [
  { name: 'name', label: 'Name', hint: 'Users see it.', isRequired: true, maxLength: 100 },
  {
    ...textarea,
    name: 'redirectUris',
    label: 'Redirect URIs',
    hint: 'Where people come back to after they have signed in. An absolute URL on each line.',
    isRequired: true,
  },
  {
    ...textarea,
    name: 'postLogoutRedirectUris',
    label: 'Redirect URIs after signing out',
    hint: 'Where the application may send people after they have signed out. An absolute URL on each line.',
  },
  {
    name: 'firstParty',
    label: 'An application of your own',
    kind: 'checkbox',
    hint: 'Users are not asked whether they consent.',
  },
]

const fieldsBelow: readonly FieldProps[] = [
  {
    ...textarea,
    name: 'resourceServers',
    label: 'Resource servers',
    hint: 'What its tokens may be for. The id of a resource server on each line, such as deals.',
    isRequired: true,
  },
  { name: 'needsRight', label: 'The right that people need to sign in', kind: 'select', isFilter: true },
  {
    name: 'requirePkce',
    label: 'Each sign-in needs PKCE',
    kind: 'checkbox',
    hint: 'Recommended. A public client always needs it.',
  },
]

const keyField: FieldProps = {
  ...textarea,
  name: 'publicKeyPem',
  label: 'Public key (PEM)',
  hint: 'For a confidential client that proves itself by an RSA key (private_key_jwt) instead of a secret.',
}

const clients: Collection<Client> = {
  path,
  right: 'client.manage',
  title: 'Clients',
  hint: 'Applications that sign people in with this server, by OpenID Connect.',
  ...programParts<Client>(path, { title: 'Kind', cell: ({ kind }) => texts.kinds[kind].text }),
  list: ({ api, request }) => api.get('GET /clients', { query: { cursor: request.query.get('cursor') ?? undefined } }),
  read: ({ api }, id) => api.get('GET /clients/:id', { path: { id } }),
  create: {
    title: 'Register a client',
    done: 'client-created',
    send: ({ api, form }) => {
      const kind = form.get('kind') === 'public' ? 'public' : 'confidential'
      return api.call('POST /clients', { body: { kind, ...valuesIn(form) } })
    },
  },
  change: {
    done: 'client-changed',
    send: ({ api, form }, { id }) => api.call('PATCH /clients/:id', { path: { id }, body: valuesIn(form) }),
  },
  rotate: {
    send: ({ api, form }, { id }) => api.call('POST /clients/:id/rotate', { path: { id }, body: rotationIn(form) }),
  },
  remove: {
    title: 'Delete the client',
    hint: 'Its secret and refresh tokens are refused at once, its access tokens within a second. This is for ever.',
    done: 'client-deleted',
    send: ({ api }, { id }) => api.call('DELETE /clients/:id', { path: { id } }),
  },
  hasSecret: ({ kind, publicKeyPem }) => kind === 'confidential' && publicKeyPem === null,
  stateOf: ({ updatedAt }) => ({ updatedAt }),
  labels: [
    { name: 'kind', label: texts.kind },
    ...fieldsAbove,
    { name: 'reach', label: texts.reach },
    { name: 'rights', label: 'Rights' },
    { name: 'mode', label: texts.mode },
    ...fieldsBelow,
    keyField,
    { name: 'password', label: proofLabel },
  ],
  fields: ({ caller }, { thing, sent, errors }) => {
    const values = sent ?? (thing ? formOf(thing) : firstForm)
    const needed = new Set(['', values.get('needsRight') ?? '', ...caller.rights])
    const options = [...needed].map((right) => ({
      value: right,
      text: right === '' ? 'None: every user may' : `${inWords(right)} (${right})`,
    }))
    const show = (field: FieldProps) => {
      const isOfLines = field.kind === 'textarea'
      const value = isOfLines ? linesIn(values, field.name).join('\n') : values.get(field.name)
      return <Field {...field} value={value} error={errors[field.name]} options={options} />
    }
    return (
      <>
        {!thing && (
          <Radios
            name="kind"
            legend={texts.kind}
            choices={choicesOf(texts.kinds)}
            chosen={values.get('kind') ?? ''}
            error={errors.kind}
          />
        )}
        {fieldsAbove.map(show)}
        <ReachFields
          legend={texts.reach}
          texts={texts.reaches}
          isAll={hasAllRights(values)}
          chosen={chosenRights(values)}
          errors={errors}
          offered={new Set([...(thing?.rights ?? []), ...caller.rights])}
        />
        <Radios
          name="mode"
          legend={texts.mode}
          choices={choicesOf(texts.modes)}
          chosen={values.get('mode') ?? ''}
          error={errors.mode}
        />
        {fieldsBelow.map(show)}
        {(!thing || thing.publicKeyPem !== null) && show(keyField)}
        <ProofField error={errors.password} />
      </>
    )
  },
}

/** `/account/clients` and `/account/clients/:id`. */
export const clientPages = () => collectionPages(clients)
