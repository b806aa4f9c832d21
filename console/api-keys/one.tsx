/** The page of one API key: what it is, rotation, revocation. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthVisit } from '../frame/auth-api.ts'
import type { PageResult, ShownPage } from '../frame/console.tsx'
import { Time } from '../frame/content.tsx'
import { ErrorSummary, Field, type FieldParts, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'
import type { Reader } from '../frame/reader.ts'
import { doneAt, formProblem, textOf } from '../parts/forms.ts'
import { RightsInWords } from '../parts/rights.tsx'
import { strings } from '../texts/account.ts'
import { strings as common } from '../texts/common.ts'
import { type ApiKey, allKeysRight, endOfDay, type KeyPlace, nameOf } from './api-key.ts'
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
    body: { password: textOf(visit.form, 'password') },
  })
  const path = `${place.base}/${encodeURIComponent(key.id)}`
  return reply.ok ? doneAt(path, 'key-confirmed') : keyPage(visit, place, key, reply.problem)
}

async function rotate(visit: AuthVisit, place: KeyPlace, key: ApiKey): Promise<PageResult> {
  const { api, form } = visit
  const [date, isForever] = [textOf(form, 'expiresAt'), form.get('isForever') === 'true']
  if (date !== undefined && isForever) return keyPage(visit, place, key, formProblem({ expiresAt: texts.expiryTwice }))
  const overlap = textOf(form, 'overlapSeconds')
  const reply = await api.call('POST /api-keys/:id/rotate', {
    path: { id: key.id },
    body: {
      ...(overlap !== undefined && { overlapSeconds: Number(overlap) }),
      ...(key.kind === 'rsa' && { publicKeyPem: textOf(form, 'publicKeyPem') }),
      expiresAt: isForever ? null : endOfDay(date),
      password: textOf(form, 'password'),
    },
  })
  if (!reply.ok) return keyPage(visit, place, key, atFields(reply.problem))
  return materialShown(texts.rotatedTitle, place, reply.body)
}

function keyPage(visit: AuthVisit, place: KeyPlace, key: ApiKey, problem?: ProblemDocument): ShownPage {
  const { request, reader } = visit
  const path = `${place.base}/${encodeURIComponent(key.id)}`
  return {
    title: nameOf(key),
    status: problem?.status ?? 200,
    content: (
      <KeyFrame place={place} request={request}>
        <div class="head">
          <h2>{nameOf(key)}</h2>
          <a href={place.base}>{texts.title}</a>
        </div>
        <div class="columns">
          <section class="panel">
            <KeyFacts apiKey={key} place={place} reader={reader} />
            <h3>{texts.reach}</h3>
            {key.rights === null ? <p>{texts.reaches.all.text}</p> : <RightsInWords rights={key.rights} />}
          </section>
          <section class="panel">
            {key.suspended && <ConfirmForm path={path} problem={problem} />}
            <RotateForm visit={visit} path={path} apiKey={key} problem={problem} />
            <hr />
            <details>
              <summary>{texts.revoke}</summary>
              <form method="post" action={path} class="stack">
                <input type="hidden" name="action" value="revoke" />
                <p>{texts.revokeQuestion}</p>
                <button type="submit" class="danger">
                  {texts.revokeYes}
                </button>
              </form>
            </details>
          </section>
        </div>
      </KeyFrame>
    ),
  }
}

interface KeyFactsParts {
  readonly apiKey: ApiKey
  readonly place: KeyPlace
  readonly reader: Reader
}

function KeyFacts({ apiKey, place, reader }: KeyFactsParts) {
  const facts: readonly (readonly [title: string, value: unknown])[] = [
    [texts.id, <code>{apiKey.id}</code>],
    ...(place.isOfAll ? [[texts.owner, apiKey.username] as const] : []),
    [texts.kind, texts.kinds[apiKey.kind]],
    [texts.requireBodyHash, apiKey.requireBodyHash ? common.yes : common.no],
    [texts.createdAt, <Time time={apiKey.createdAt} reader={reader} />],
    [
      texts.lastUsedAt,
      apiKey.lastUsedAt === null ? texts.neverUsed : <Time time={apiKey.lastUsedAt} reader={reader} />,
    ],
    [texts.expiresAt, <Expiry apiKey={apiKey} reader={reader} />],
    ...(apiKey.formerUntil === null
      ? []
      : [[texts.formerUntil, <Time time={apiKey.formerUntil} reader={reader} />] as const]),
  ]
  return (
    <>
      <dl class="facts">
        {facts.map(([title, value]) => (
          <>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
      {apiKey.publicKeyPem !== undefined && (
        <details>
          <summary>{texts.publicKey}</summary>
          <code class="secret">{apiKey.publicKeyPem}</code>
        </details>
      )}
    </>
  )
}

function ConfirmForm({ path, problem }: { readonly path: string; readonly problem: ProblemDocument | undefined }) {
  return (
    <>
      <h3>{texts.suspendedTitle}</h3>
      <p class="hint">{texts.suspendedHint}</p>
      <form method="post" action={path} class="stack">
        <input type="hidden" name="action" value="confirm" />
        <ProofField error={fieldErrors(problem).password} form="confirm" />
        <button type="submit">{texts.confirm}</button>
      </form>
      <hr />
    </>
  )
}

interface RotateFormParts {
  readonly visit: AuthVisit
  readonly path: string
  readonly apiKey: ApiKey
  readonly problem: ProblemDocument | undefined
}

const overlaps = Object.entries(texts.overlaps).map(([value, text]) => ({ value, text }))

function RotateForm({ visit: { form }, path, apiKey, problem }: RotateFormParts) {
  const errors = fieldErrors(problem)
  const fields: readonly FieldParts[] = [
    {
      name: 'overlapSeconds',
      label: texts.overlap,
      kind: 'select',
      options: overlaps,
      isRequired: true,
      value: form.get('overlapSeconds') ?? '86400',
    },
    ...(apiKey.kind === 'rsa'
      ? [{ name: 'publicKeyPem', label: texts.publicKey, kind: 'textarea', hint: texts.publicKeyRotation } as const]
      : []),
    { name: 'expiresAt', label: texts.newExpiry, kind: 'date', hint: texts.newExpiryHint },
    { name: 'isForever', label: texts.withoutExpiry, kind: 'checkbox' },
  ]
  const all = [...fields, { name: 'password', label: proofLabel }]
  return (
    <>
      <h3>{texts.rotate}</h3>
      <p class="hint">{texts.rotateIntro}</p>
      <ErrorSummary problem={problem} fields={all} />
      <form method="post" action={path} class="stack">
        <input type="hidden" name="action" value="rotate" />
        {fields.map((field) => (
          <Field {...field} value={field.value ?? form.get(field.name)} error={errors[field.name]} />
        ))}
        <ProofField error={errors.password} />
        <button type="submit">{texts.rotate}</button>
      </form>
    </>
  )
}
