/** `/account/device`: the reader enters the code of a device, and lets it act for them or not. Needs no script. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { devicePath } from '../../shared/server/pages/page-paths.ts'
import { RefusedCall } from '../frame/api.ts'
import { atFields } from '../frame/at-fields.ts'
import type { AuthPage, AuthReply } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { Facts, Notice, Time } from '../frame/content.tsx'
import { ErrorSummary, Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { Decision, MayDo } from './asked-parts.tsx'

/** The page. Its last form goes to the API: only that lets the device go on. */
export const devicePage = (): AuthPage => ({
  methods: ['GET'],
  path: devicePath,
  render: async ({ api, request: { query }, caller, reader }) => {
    const user_code = query.get('user_code') ?? ''
    if (user_code === '') return codeForm({ notice: done[query.get('done') ?? ''] })
    const reply = await api.call('GET /oauth/device/request', { query: { user_code } })
    if (reply.ok) return question({ asked: reply.body, username: caller.username, reader })
    if (reply.problem.code !== 'invalid-user-code') throw new RefusedCall(reply)
    return codeForm({ user_code, problem: atFields(reply.problem, { 'invalid-user-code': 'user_code' }) })
  },
})

const done: Readonly<Record<string, string>> = {
  allow: 'The device is connected, and goes on by itself. It is among your sessions, where you can end it.',
  refuse: 'The device was refused. It can do nothing in your name.',
}

const field: FieldProps = {
  name: 'user_code',
  label: 'Code',
  hint: 'As the device shows it, such as BCDF-GHJK.',
  isRequired: true,
  autocomplete: 'off',
  maxLength: 20,
}

interface CodeFormProps {
  readonly user_code?: string
  readonly problem?: ProblemDocument
  readonly notice?: string | undefined
}

const codeForm = ({ user_code, problem, notice }: CodeFormProps): ShownPage => ({
  title: 'Connect a device',
  status: problem?.status ?? 200,
  content: (
    <div class="narrow">
      <h1>Connect a device</h1>
      <Notice>{notice}</Notice>
      <ErrorSummary problem={problem} fields={[field]} />
      <form method="get" action={devicePath} class="stack">
        <Field {...field} value={user_code} error={fieldErrors(problem).user_code} />
        <button type="submit">Go on</button>
      </form>
    </div>
  ),
})

interface QuestionProps {
  readonly asked: AuthReply<'GET /oauth/device/request'>
  readonly username: string
  readonly reader: Reader
}

function question({ asked, username, reader }: QuestionProps): ShownPage {
  const { userCode, client, rights, scopes, address, createdAt } = asked
  const title = `Let ${client.name} on a device use your account?`
  return {
    title,
    content: (
      <div class="narrow">
        <h1>{title}</h1>
        <p>
          <strong>{client.name}</strong> asks to sign you in as <strong>{username}</strong> on a device.
          {client.firstParty || ' It belongs to another party.'}
        </p>
        <Facts
          facts={[
            ['Code on the device', <code>{userCode}</code>],
            ['Asked from the address', address],
            ['Asked at', <Time time={createdAt} reader={reader} />],
          ]}
        />
        <p>
          <strong>Allow it only if you began this yourself, and the device before you shows this code.</strong> If
          somebody sent you the code or a link, refuse: they would use your account.
        </p>
        <MayDo client={client} rights={rights} scopes={scopes} />
        <p>This holds until you end it, also when you have signed out here.</p>
        <Decision action="/oauth/device/decision" hidden={{ user_code: userCode }} />
      </div>
    ),
  }
}
