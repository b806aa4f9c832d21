/** The audit log, with filters. */
import { changesInWords } from '../../shared/protocol/entry-changes.ts'
import { explainedProblems } from '../../shared/protocol/problems/catalogue.ts'
import type { AuthPage } from '../frame/auth-api.ts'
import { type Column, Pager, Table, Time } from '../frame/content.tsx'
import type { FieldProps } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { SearchForm } from '../parts/search-form.tsx'
import { strings } from '../texts/account.ts'
import { type AuditEntry, auditPath, auditQuery, auditRight, filtersOf } from './audit-query.ts'
import { userPath, usersRight } from './user-parts.tsx'

/** `/account/audit`. */
export const auditPage = (): AuthPage => ({
  methods: ['GET'],
  path: auditPath,
  right: auditRight,
  render: async ({ request: { query }, api, caller, reader }) => {
    const cursor = query.get('cursor') ?? undefined
    const page = { limit: query.get('limit') ?? undefined, cursor }
    const reply = await api.call('GET /audit', { query: { ...auditQuery(query), ...page } })
    const problem = reply.ok ? undefined : reply.problem
    const columns = columnsFor(reader, caller.rights.has(usersRight))
    return {
      title: 'Audit log',
      status: problem?.status ?? 200,
      content: (
        <>
          <div class="head">
            <h1>Audit log</h1>
            {reply.ok && reply.body.items.length > 0 && <ExportLinks query={filtersOf(query)} />}
          </div>
          <SearchForm
            path={auditPath}
            fields={fieldsOf(query)}
            query={query}
            problem={problem}
            submit="Show"
            class="filters wide"
          >
            <Outcomes />
          </SearchForm>
          {reply.ok && (
            <>
              <Table caption="Audit log" columns={columns} rows={reply.body.items} empty="No entry is like that." />
              <Pager path={auditPath} query={query} nextCursor={reply.body.nextCursor} />
            </>
          )}
        </>
      ),
    }
  },
})

/** The codes of refusals. Other outcomes say why the server itself did it. */
const refusals: ReadonlySet<string> = new Set(explainedProblems(401).map(({ code }) => code))

/** What happened to the action, in words; an action of a later version by its name. */
function inWords({ action, outcome }: AuditEntry): string {
  const text = Object.hasOwn(strings.actions, action) ? strings.actions[action] : undefined
  if (text === undefined) return action
  return refusals.has(outcome) ? `tried to ${text}` : strings.inThePast(text)
}

/** Beginnings of actions. */
const families = Object.entries({
  'user.*': 'All about users',
  'login.*': 'All about logins',
  'session.*': 'All about sessions',
  'token.*': 'All about tokens',
  'key-signed-token.*': 'All about key-signed tokens',
  'api-key.*': 'All about API keys',
  'key.*': 'All about signing keys',
}).map(([value, text]) => ({ value, text }))
const singles = Object.keys(strings.actions).map((action) => ({ value: action, text: action }))
const actionOptions = [{ value: '', text: 'Any action' }, ...families, ...singles]
const orderOptions = [
  { value: 'desc', text: 'Newest first' },
  { value: 'asc', text: 'Oldest first' },
]

function fieldsOf(query: URLSearchParams): FieldProps[] {
  const action = query.get('action') ?? ''
  const isKnown = actionOptions.some(({ value }) => value === action)
  const kind = 'datetime-local'
  return [
    { name: 'actor', label: 'Actor', kind: 'search', maxLength: 64 },
    {
      name: 'action',
      label: 'Action',
      kind: 'select',
      options: isKnown ? actionOptions : [...actionOptions, { value: action, text: action }],
    },
    { name: 'target', label: 'Target', kind: 'search', maxLength: 64 },
    { name: 'outcome', label: 'Outcome', kind: 'search', list: 'outcomes', maxLength: 64 },
    { name: 'from', label: 'From (UTC)', kind },
    { name: 'to', label: 'To (UTC)', kind },
    { name: 'order', label: 'Order', kind: 'select', options: orderOptions },
  ]
}

const Outcomes = () => (
  <datalist id="outcomes">
    {['succeeded', 'invalid-credentials', 'missing-right', 'invalid-value'].map((outcome) => (
      <option value={outcome} />
    ))}
  </datalist>
)

const columnsFor = (reader: Reader, hasUserPages: boolean): Column<AuditEntry>[] => [
  { title: 'Time', cell: ({ at }) => <Time time={at} reader={reader} /> },
  {
    title: 'Who',
    cell: ({ actor, client }) => (
      <>
        <UserName name={actor} isLink={hasUserPages} />
        {client && `, by ${client}`}
      </>
    ),
  },
  {
    title: 'What',
    cell: (entry) => (
      <>
        {inWords(entry)} <span class="hint">{entry.action}</span>{' '}
        {entry.count > 1 && <span class="badge">{reader.number(entry.count)} times</span>}{' '}
        {entry.reason && <span class="hint">{entry.reason}</span>}
        {entry.changes && <div class="hint">{changesInWords(entry.changes)}</div>}
      </>
    ),
  },
  {
    title: 'Target',
    cell: ({ action, target }) => (
      <UserName name={target} isLink={hasUserPages} isTarget isKey={action.startsWith('key.')} />
    ),
  },
  {
    title: 'Outcome',
    cell: ({ outcome }) => (
      <span class={outcome === 'succeeded' ? 'badge completed' : 'badge bad'}>
        {outcome === 'succeeded' ? 'succeeded' : outcome}
      </span>
    ),
  },
  {
    title: 'Where',
    isShort: true,
    cell: ({ scheme, address }) => <span class="hint">{[scheme, address].filter(Boolean).join(' · ') || '–'}</span>,
  },
]

interface UserNameProps {
  readonly name: string | null
  readonly isLink: boolean
  readonly isTarget?: boolean
  /** Ids of signing keys could be user names, too. */
  readonly isKey?: boolean
}

const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)

/** A user name with a link, or the id of a key, a login or a webhook. */
function UserName({ name, isLink, isTarget = false, isKey = false }: UserNameProps) {
  if (name === null) return <span class="hint">{isTarget ? '–' : 'no user'}</span>
  if (isKey || isId(name)) return <code>{name}</code>
  const hasPage = isLink && /^[A-Za-z0-9._@-]{1,64}$/.test(name)
  return <span class="name">{hasPage ? <a href={userPath(name)}>{name}</a> : name}</span>
}

function ExportLinks({ query }: { readonly query: URLSearchParams }) {
  const link = (format: string) => `${auditPath}/export?${new URLSearchParams([...query, ['format', format]])}`
  return (
    <p class="actions">
      <a class="button quiet" href={link('csv')}>
        Export as CSV
      </a>
      <a class="button quiet" href={link('ndjson')}>
        Export as NDJSON
      </a>
    </p>
  )
}
