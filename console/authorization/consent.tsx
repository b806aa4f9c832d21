/** `/account/authorize`: the reader lets an application do what it asks for, or refuses it. Needs no script. */
import { consentPath } from '../../shared/server/pages/first-pages.ts'
import type { AuthPage } from '../frame/auth-api.ts'
import type { ShownPage } from '../frame/console.tsx'
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
  const learns = ['profile', 'email', 'roles'].filter((scope) => scopes.includes(scope)).map((scope) => words[scope])
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
        <p>{rights?.length === 0 ? 'It can do nothing in your name.' : 'It may, as far as you may:'}</p>
        <ul>
          {rights === null ? (
            <li>everything</li>
          ) : (
            rights.map(({ description, name }) => <li>{description || name}</li>)
          )}
        </ul>
        <p>It learns who you are{learns.length > 0 && `: ${learns.join(', ')}`}.</p>
        <p>
          {scopes.includes('offline_access')
            ? 'This holds until you withdraw it, also when you have signed out.'
            : 'This holds as long as you are signed in. You can withdraw it earlier.'}
        </p>
        <form method="post" action="/oauth/authorize/decision" class="stack">
          {Object.entries(hidden).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <button type="submit" name="decision" value="allow">
            Allow
          </button>
          <button type="submit" name="decision" value="refuse" class="quiet">
            Refuse
          </button>
        </form>
      </div>
    ),
  }
}

const words: Readonly<Record<string, string>> = {
  profile: 'your user name and your name',
  email: 'your e-mail address',
  roles: 'your roles',
}
