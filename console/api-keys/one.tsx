/** The page of one API key: what it is, rotation, revocation. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthVisit } from '../frame/auth-api.ts'
import type { PageResult, ShownPage } from '../frame/console.tsx'
import { type Fact, Facts, Time } from '../frame/content.tsx'
import { ErrorSummary, Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import type { Reader } from '../frame/reader.ts'
import { ActionForm } from '../parts/action-form.tsx'
import { doneAt, fieldTextOf, formProblem } from '../parts/forms.ts'
import { overlapField, overlapIn } from '../parts/overlap.ts'
import { RightsInWords } from '../parts/rights.tsx'
import { strings } from '../texts/account.ts'
import { type ApiKey, allKeysRight, endOfDay, type KeyPlace, keyNameOf } from './api-key.ts'
import { KeyFrame, materialShown } from './key-frame.tsx'
import { Expiry } from './list.tsx'

const { keys: texts } = strings

/** `/account/api-keys/:id` and `/account/all-api-keys/:id`. */
export const apiKeyPage = (place: KeyPlace): AuthPage => ({
  methods: ['GET', 'POST'],
  path: `${place.base}/:id`,
  right: place.isOfAll ? allKeysRight : undefined,
  render: async (visit) => {
    const path = { id: visit.request.pathParameters.id ?? '' }
    const key = await visit.api.get('GET /api-keys/:id', { path })
    // Only forms have an action.
    const action = visit.form.get('action')
    if (action === 'revoke') return revoke(visit, place, key)
    if (action === 'confirm') return confirm(visit, place, key)
    return action === 'rotate' ? rotate(visit, place, key) : keyPage(visit, place, key)
  },
})

async function revoke(visit: AuthVisit, place: KeyPlace, key: ApiKey): Promise<PageResult> {
  const reply = await visit.api.call('DELETE /api-keys/:id', { path: { id: key.id } })
  return reply.ok ? doneAt(place.base, 'key-revoked') : keyPage(visit, place, key, reply.problem)
}

async function confirm(visit: AuthVisit, place: KeyPlace, key: ApiKey): Promise<PageResult> {
  const reply = await visit.api.call('POST /api-keys/:id/confirm', {
    path: { id: key.id },
    body: { password: fieldTextOf(visit.form, 'password') },
  })
  const path = `${place.base}/${encodeURIComponent(key.id)}`
  return reply.ok ? doneAt(path, 'key-confirmed') : keyPage(visit, place, key, reply.problem)
}

async function rotate(visit: AuthVisit, place: KeyPlace, key: ApiKey): Promise<PageResult> {
  const { api, form } = visit
  const [date, isForever] = [fieldTextOf(form, 'expiresAt'), form.get('isForever') === 'true']
  if (date !== undefined && isForever)
    return keyPage(
      visit,
      place,
      key,
      formProblem({ expiresAt: 'Enter a day, or choose that it does not expire; not both.' }),
    )
  const reply = await api.call('POST /api-keys/:id/rotate', {
    path: { id: key.id },
    body: {
      overlapSeconds: overlapIn(form),
      ...(key.kind === 'rsa' && { publicKeyPem: fieldTextOf(form, 'publicKeyPem') }),
      expiresAt: isForever ? null : endOfDay(date),
      password: fieldTextOf(form, 'password'),
    },
  })
  if (!reply.ok) return keyPage(visit, place, key, atFields(reply.problem))
  return materialShown('The API key is rotated', place, reply.body)
}

function keyPage(visit: AuthVisit, place: KeyPlace, key: ApiKey, problem?: ProblemDocument): ShownPage {
  const { request, reader } = visit
  const path = `${place.base}/${encodeURIComponent(key.id)}`
  return {
    title: keyNameOf(key),
    status: problem?.status ?? 200,
    content: (
      <KeyFrame place={place} request={request}>
        <div class="head">
          <h2>{keyNameOf(key)}</h2>
          <a href={place.base}>API keys</a>
        </div>
        <div class="columns">
          <section class="panel">
            <KeyFacts apiKey={key} place={place} reader={reader} />
            <h3>What the key may do</h3>
            {key.rights === null ? <p>Everything that its owner may do</p> : <RightsInWords rights={key.rights} />}
          </section>
          <section class="panel">
            {key.suspended && <ConfirmForm path={path} problem={problem} />}
            <RotateForm visit={visit} path={path} apiKey={key} problem={problem} />
            <hr />
            <ActionForm
              name="revoke"
              path={path}
              title="Revoke…"
              hint="Revoke this key? It signs nothing any more, and the tokens made with it end. This is for ever."
              button="Yes, revoke it"
              isDangerous
              problem={undefined}
            />
          </section>
        </div>
      </KeyFrame>
    ),
  }
}

interface KeyFactsProps {
  readonly apiKey: ApiKey
  readonly place: KeyPlace
  readonly reader: Reader
}

function KeyFacts({ apiKey, place, reader }: KeyFactsProps) {
  const facts: readonly Fact[] = [
    ['Id', <code>{apiKey.id}</code>],
    ['Owner', place.isOfAll ? apiKey.username : null],
    ['Kind', texts.kinds[apiKey.kind]],
    ['Signatures must cover the body', apiKey.requireBodyHash ? 'Yes' : 'No'],
    ['Made', <Time time={apiKey.createdAt} reader={reader} />],
    ['Last used', <Time time={apiKey.lastUsedAt} none="Never" reader={reader} />],
    ['Expires on', <Expiry apiKey={apiKey} reader={reader} />],
    ['The former secret works until', apiKey.formerUntil && <Time time={apiKey.formerUntil} reader={reader} />],
  ]
  return (
    <>
      <Facts facts={facts} />
      {apiKey.publicKeyPem !== undefined && (
        <details>
          <summary>Public key (PEM)</summary>
          <code class="secret">{apiKey.publicKeyPem}</code>
        </details>
      )}
    </>
  )
}

function ConfirmForm({ path, problem }: { readonly path: string; readonly problem: ProblemDocument | undefined }) {
  return (
    <>
      <h3>This key is suspended</h3>
      <p class="hint">
        It was made without a second factor, so it is refused. Confirm it if you made it. If you do not know it, revoke
        it.
      </p>
      <form method="post" action={path} class="stack">
        <input type="hidden" name="action" value="confirm" />
        <ProofField error={fieldErrors(problem).password} form="confirm" />
        <button type="submit">Confirm this key</button>
      </form>
      <hr />
    </>
  )
}

interface RotateFormProps {
  readonly visit: AuthVisit
  readonly path: string
  readonly apiKey: ApiKey
  readonly problem: ProblemDocument | undefined
}

function RotateForm({ visit: { form }, path, apiKey, problem }: RotateFormProps) {
  const errors = fieldErrors(problem)
  const fields: readonly FieldProps[] = [
    overlapField(form),
    ...(apiKey.kind === 'rsa'
      ? [
          {
            name: 'publicKeyPem',
            label: 'Public key (PEM)',
            kind: 'textarea',
            hint: 'Empty: a new pair is made here, and its private key is shown once.',
          } as const,
        ]
      : []),
    { name: 'expiresAt', label: 'New last day', kind: 'date', hint: 'Empty: the expiry stays.' },
    { name: 'isForever', label: 'It does not expire', kind: 'checkbox' },
  ]
  const all = [...fields, { name: 'password', label: proofLabel }]
  return (
    <>
      <h3>Rotate</h3>
      <p class="hint">Gives the key a new secret or key pair. Its id, rights and tokens stay.</p>
      <ErrorSummary problem={problem} fields={all} />
      <form method="post" action={path} class="stack">
        <input type="hidden" name="action" value="rotate" />
        {fields.map((field) => (
          <Field {...field} value={field.value ?? form.get(field.name)} error={errors[field.name]} />
        ))}
        <ProofField error={errors.password} />
        <button type="submit">Rotate</button>
      </form>
    </>
  )
}
