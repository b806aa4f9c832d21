/** `/account/authorize`: the reader lets an application do what it asks for, or refuses it. Needs no script. */
import { consentPath } from '../../shared/server/pages/page-paths.ts'
import type { AuthPage } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
import { Decision, MayDo } from './asked-parts.tsx'
import type { AskedRequest } from './asked-request.ts'

/** The page. Its form goes to the API: only that gives a code. */
export const consentPage = (): AuthPage => ({
  methods: ['GET'],
  path: consentPath,
  render: async ({ api, request: { query }, caller }) => {
    const [client_id = '', request_uri = ''] = ['client_id', 'request_uri'].map((name) => query.get(name) ?? '')
    const asked = await api.get('GET /oauth/authorize/request', { query: { client_id, request_uri } })
    return consentForm({ asked, username: caller.username, hidden: { client_id, request_uri } })
  },
})

interface ConsentProps {
  readonly asked: AskedRequest
  readonly username: string
  readonly hidden: Readonly<Record<string, string>>
}

function consentForm({ asked: { client, target, rights, scopes }, username, hidden }: ConsentProps): ShownPage {
  const title = `Let ${client.name} use your account?`
  return {
    title,
    formTarget: target,
    content: (
      <div class="narrow">
        <h1>{title}</h1>
        <p>
          <strong>{client.name}</strong>, at <code>{target}</code>, asks to sign you in as <strong>{username}</strong>.
          {client.firstParty || ' It belongs to another party.'}
        </p>
        <MayDo client={client} rights={rights} scopes={scopes} />
        <p>
          {scopes.includes('offline_access')
            ? 'This holds until you withdraw it, also when you have signed out.'
            : 'This holds as long as you are signed in. You can withdraw it earlier.'}
        </p>
        <Decision action="/oauth/authorize/decision" hidden={hidden} />
      </div>
    ),
  }
}
