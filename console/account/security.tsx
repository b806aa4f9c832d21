/**
 * The reader's own second factors: what is set up, set up more, remove, recovery codes. Passkeys alone need a script.
 */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { ApiRefusal } from '../frame/api.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthReply, AuthVisit } from '../frame/auth-api.ts'
import type { PageResult, ShownPage } from '../frame/console.tsx'
import { type Column, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { doneAt, fieldTextOf } from '../parts/forms.ts'
import { ProofForm } from '../parts/proof-form.tsx'
import { shownOnce } from '../parts/show-once.tsx'
import { confirmFactor, passkeySetUp, securityPath as path, totpSetUp } from './security-set-up.tsx'
import { AccountFrame } from './tabs.tsx'

const actions = ['totp', 'passkey', 'recovery', 'remove'] as const

type Action = (typeof actions)[number]

interface Refused {
  readonly of: Action
  readonly problem: ProblemDocument
}

/** `/account/security`. */
export const securityPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path,
  render: (visit) => {
    const action = visit.form.get('action') ?? ''
    if (action === 'confirm-totp' || action === 'confirm-passkey') return confirmFactor(visit, action)
    const known = actions.find((name) => name === action)
    if (known) return act(visit, known)
    const id = visit.request.query.get('remove')
    return id === null ? overview(visit) : removal(visit, id)
  },
})

/** Sends a form with the proof. */
async function act(visit: AuthVisit, action: Action): Promise<PageResult> {
  const { api, form } = visit
  const body = { password: fieldTextOf(form, 'password') }
  const refused = ({ problem }: ApiRefusal): Refused => ({ of: action, problem: atFields(problem) })
  if (action === 'totp') {
    const reply = await api.call('POST /me/second-factors/totp', { body })
    return reply.ok ? totpSetUp(reply.body) : overview(visit, refused(reply))
  }
  if (action === 'passkey') {
    const reply = await api.call('POST /me/second-factors/passkeys/options', { body })
    return reply.ok ? passkeySetUp(reply.body) : overview(visit, refused(reply))
  }
  if (action === 'recovery') {
    const reply = await api.call('POST /me/second-factors/recovery-codes', { body })
    return reply.ok ? recoveryCodes(reply.body.codes) : overview(visit, refused(reply))
  }
  const id = form.get('id') ?? ''
  const reply = await api.call('DELETE /me/second-factors/enrolled/:id', { path: { id }, body })
  return reply.ok ? doneAt(path, 'factor-removed') : removal(visit, id, refused(reply))
}

const recoveryCodes = (codes: readonly string[]): ShownPage =>
  shownOnce({
    title: 'Your recovery codes',
    warning: 'These codes are shown only now. The codes before them no longer work.',
    secrets: [{ label: 'Recovery codes', value: codes.join('\n'), fileName: 'keyhold-recovery-codes.txt' }],
    back: { path, text: 'Back to the second factor' },
  })

async function overview({ request, api, reader }: AuthVisit, refused?: Refused): Promise<ShownPage> {
  const state = await api.get('GET /me/second-factors')
  const problemOf = (of: Action) => (refused?.of === of ? refused.problem : undefined)
  return {
    title: 'Second factor',
    status: refused?.problem.status ?? 200,
    content: (
      <AccountFrame request={request}>
        <h2>Second factor</h2>
        <p class="hint">
          With one, a sign-in asks for a code of your authenticator app or for a passkey, besides the password.{' '}
          {state.required ? 'Your sign-ins need a second factor.' : 'Your sign-ins need the password alone.'}
        </p>
        {state.required && (
          <p class="hint">
            API keys that were made without one are suspended until you confirm them:{' '}
            <a href="/account/api-keys">your API keys</a>
          </p>
        )}
        <Table caption="What is set up" columns={columns(reader)} rows={state.factors} empty="Nothing is set up." />
        <div class="tiles wide">
          <ProofForm
            path={path}
            of="totp"
            title="Authenticator app"
            intro="An app on your telephone shows a code of six digits. Setting it up again ends the app before it."
            submit="Set up an app"
            problem={problemOf('totp')}
          />
          <ProofForm
            path={path}
            of="passkey"
            title="Passkey"
            intro="Your device proves itself, by its lock or by a security key. This needs JavaScript."
            submit="Set up a passkey"
            problem={problemOf('passkey')}
          />
          {state.factors.length > 0 && (
            <ProofForm
              path={path}
              of="recovery"
              title="Recovery codes"
              submit="Make new codes"
              intro={
                'Each lets you in once when you have lost your second factor. Keep them away from your password. ' +
                (state.recoveryCodes === 1 ? '1 code is left.' : `${state.recoveryCodes} codes are left.`)
              }
              problem={problemOf('recovery')}
            />
          )}
        </div>
      </AccountFrame>
    ),
  }
}

const columns = (reader: Reader): Column<AuthReply<'GET /me/second-factors'>['factors'][number]>[] => [
  { title: 'Name', cell: ({ name }) => name },
  { title: 'Kind', cell: ({ kind }) => (kind === 'totp' ? 'Codes of an app' : 'Passkey') },
  { title: 'Since', cell: ({ createdAt }) => <Time time={createdAt} reader={reader} /> },
  { title: 'Last used', cell: ({ lastUsedAt }) => <Time time={lastUsedAt} none="Never" reader={reader} /> },
  {
    title: 'Action',
    cell: ({ id, name }) => (
      <a href={`${path}?${new URLSearchParams({ remove: id })}`} aria-label={`Remove ${name}`}>
        Remove
      </a>
    ),
  },
]

async function removal({ request, api }: AuthVisit, id: string, refused?: Refused): Promise<ShownPage> {
  const { factors } = await api.get('GET /me/second-factors')
  const factor = factors.find((one) => one.id === id)
  const title = factor ? `Remove ${factor.name}?` : 'Second factor'
  return {
    title,
    status: refused?.problem.status ?? (factor ? 200 : 404),
    content: (
      <AccountFrame request={request}>
        {factor ? (
          <ProofForm
            path={path}
            of="remove"
            isDangerous
            title={title}
            intro="With the last one, your recovery codes go too."
            submit="Remove"
            id={id}
            problem={refused?.problem}
          />
        ) : (
          <p>There is no such second factor any more.</p>
        )}
        <p>
          <a href={path}>Back to the second factor</a>
        </p>
      </AccountFrame>
    ),
  }
}
