/** `/account/applications`: what the reader has let applications of other parties do, and takes back. */
import type { AuthPage, AuthReply } from '../frame/auth-api.ts'
import { problemPage } from '../frame/console.tsx'
import { type Column, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { doneAt } from '../parts/forms.ts'
import { AccountFrame } from './tabs.tsx'

const path = '/account/applications'

type Consent = AuthReply<'GET /consents'>['items'][number]

/** The page. */
export const applicationsPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path,
  render: async ({ request, api, form, reader }) => {
    if (request.method === 'POST') {
      const reply = await api.call('DELETE /consents/:clientId', { path: { clientId: form.get('client') ?? '' } })
      return reply.ok ? doneAt(path, 'consent-withdrawn') : problemPage(reply.problem)
    }
    const { items } = await api.get('GET /consents')
    return {
      title: 'Applications',
      content: (
        <AccountFrame request={request}>
          <h2>Applications</h2>
          <p class="hint">
            What you have let applications of other parties do in your name. Whoever you take it back from is signed out
            at once, and has to ask again.
          </p>
          <Table caption="Applications" columns={columns(reader)} rows={items} empty="There are no applications." />
        </AccountFrame>
      ),
    }
  },
})

const columns = (reader: Reader): Column<Consent>[] => [
  { title: 'Application', cell: ({ name }) => name },
  { title: 'May use the rights', cell: ({ rights }) => (rights.length === 0 ? 'none' : rights.join(', ')) },
  { title: 'Learns', cell: ({ scopes }) => scopes.join(', ') || 'nothing' },
  { title: 'Since', cell: ({ grantedAt }) => <Time time={grantedAt} reader={reader} /> },
  {
    title: 'Action',
    cell: ({ clientId, name }) => (
      <form method="post" action={path}>
        <input type="hidden" name="client" value={clientId} />
        <button type="submit" class="danger small" aria-label={`Take back what ${name} may do`}>
          Take back
        </button>
      </form>
    ),
  },
]
