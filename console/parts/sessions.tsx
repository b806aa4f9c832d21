/** The table of sessions and token logins, for their owner and for administrators. */
import type { AuthApi, AuthReply } from '../frame/auth-api.ts'
import { type Column, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { strings } from '../texts/account.ts'

type Login = AuthReply<'GET /sessions'>['items'][number]

const { sessions: texts } = strings

/** Programs and systems as `User-Agent` names them, the most telling first. */
const programs = [/\b(Edg)e?\//, /\b(OPR|Opera)\//, /\b(Firefox)\//, /(Chrome)\//, /\bVersion\/.*\b(Safari)\//]
const systems = [/\b(Android)\b/, /\b(iPhone|iPad)\b/, /\b(Windows)\b/, /\b(Mac OS)\b/, /\b(Linux)\b/]
const fullNames: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS': 'macOS' }

const firstOf = (patterns: readonly RegExp[], text: string): string | undefined => {
  const name = patterns.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined)
  return name === undefined ? undefined : (fullNames[name] ?? name)
}

/** The browser and its system, or all that the program says of itself. */
export function deviceOf(userAgent: string | null): string {
  if (!userAgent) return 'Unknown program'
  const [program, system] = [firstOf(programs, userAgent), firstOf(systems, userAgent)]
  return program !== undefined && system !== undefined ? `${program} on ${system}` : userAgent
}

interface SessionTableProps {
  readonly logins: readonly Login[]
  readonly reader: Reader
  /** The path to which the forms are sent. */
  readonly path: string
}

/** Each session with a button that ends it, except the one that asks: signing out ends that one. */
export function SessionTable({ logins, reader, path }: SessionTableProps) {
  const columns: Column<Login>[] = [
    {
      title: 'Program',
      cell: (login) => (
        <>
          <span title={login.userAgent ?? undefined}>{deviceOf(login.userAgent)}</span>{' '}
          {login.current && <span class="badge good">this session</span>}
        </>
      ),
    },
    { title: 'Kind', isShort: true, cell: ({ kind, client }) => client?.name ?? texts.kinds[kind] },
    { title: 'Address', isShort: true, cell: ({ address }) => address ?? '–' },
    { title: 'Since', cell: ({ createdAt }) => <Time time={createdAt} reader={reader} /> },
    { title: 'Last used', cell: ({ lastUsedAt }) => <Time time={lastUsedAt} reader={reader} /> },
    { title: 'Ends', cell: ({ expiresAt }) => <Time time={expiresAt} reader={reader} /> },
    { title: 'Action', cell: (login) => !login.current && <EndForm login={login} path={path} /> },
  ]
  return (
    <Table caption="Sessions and logins" columns={columns} rows={logins} empty="There are no sessions or logins." />
  )
}

function EndForm({ login, path }: { readonly login: Login; readonly path: string }) {
  return (
    <form method="post" action={path}>
      <input type="hidden" name="action" value="end" />
      <input type="hidden" name="id" value={login.id} />
      <button type="submit" class="quiet small" aria-label={`End the session of ${deviceOf(login.userAgent)}`}>
        End
      </button>
    </form>
  )
}

/** The ids of all the reader's sessions and logins except the one that asks. */
export async function otherLogins(api: AuthApi): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page: AuthReply<'GET /sessions'> = await api.get('GET /sessions', { query: { limit: 100, cursor } })
    ids.push(...page.items.filter(({ current }) => !current).map(({ id }) => id))
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return ids
}
