/** Lists of API keys: the reader's own, those of a user, and those of everybody. */
import type { AuthPage } from '../frame/auth-api.ts'
import { type Column, Pager, Table, Time } from '../frame/content.tsx'
import type { FieldProps } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { SearchForm } from '../parts/search-form.tsx'
import { strings } from '../texts/account.ts'
import { type ApiKey, allKeysRight, type KeyPlace, keyNameOf } from './api-key.ts'
import { KeyFrame } from './key-frame.tsx'

const { keys: texts } = strings

/** `/account/api-keys` and `/account/all-api-keys`. */
export const apiKeyListPage = (place: KeyPlace): AuthPage => ({
  methods: ['GET'],
  path: place.base,
  right: place.isOfAll ? allKeysRight : undefined,
  render: async ({ request: { query, path }, api, caller, reader }) => {
    const owner = place.isOfAll ? query.get('username') || undefined : caller.username
    const reply = await api.call('GET /api-keys', {
      query: { username: owner, cursor: query.get('cursor') ?? undefined },
    })
    const problem = reply.ok ? undefined : reply.problem
    return {
      title: 'API keys',
      status: problem?.status ?? 200,
      content: (
        <KeyFrame place={place} request={{ path, query }}>
          <div class="head">
            <p class="hint">Programs sign their requests with an API key, or use it as an OAuth client.</p>
            <a class="button" href={`${place.base}/new`}>
              Make an API key
            </a>
          </div>
          {place.isOfAll && (
            <SearchForm path={place.base} fields={[ownerField]} query={query} problem={problem} submit="Show" />
          )}
          {reply.ok && (
            <>
              <ApiKeyTable keys={reply.body.items} place={place} reader={reader} />
              <Pager path={place.base} query={query} nextCursor={reply.body.nextCursor} />
            </>
          )}
        </KeyFrame>
      ),
    }
  },
})

const ownerField: FieldProps = {
  name: 'username',
  label: 'Keys of the user',
  kind: 'search',
  maxLength: 64,
}

interface ApiKeyTableProps {
  readonly keys: readonly ApiKey[]
  readonly place: KeyPlace
  readonly reader: Reader
}

/** The keys, each with a link to its page. */
export function ApiKeyTable({ keys, place, reader }: ApiKeyTableProps) {
  const columns: Column<ApiKey>[] = [
    {
      title: 'Name',
      cell: (key) => (
        <span>
          <a href={`${place.base}/${encodeURIComponent(key.id)}`}>{keyNameOf(key)}</a>{' '}
          {key.suspended && <span class="badge warn">suspended</span>}
        </span>
      ),
    },
    ...(place.isOfAll ? [{ title: 'Owner', cell: ({ username }: ApiKey) => username }] : []),
    { title: 'Kind', cell: ({ kind }) => texts.kinds[kind] },
    {
      title: 'Rights',
      cell: ({ rights }) =>
        rights === null ? 'All of its owner' : rights.length === 1 ? '1 right' : `${rights.length} rights`,
    },
    { title: 'Made', cell: ({ createdAt }) => <Time time={createdAt} reader={reader} /> },
    { title: 'Last used', cell: ({ lastUsedAt }) => <Time time={lastUsedAt} none="Never" reader={reader} /> },
    { title: 'Expires on', cell: (key) => <Expiry apiKey={key} reader={reader} /> },
  ]
  return <Table caption="API keys" columns={columns} rows={keys} empty="There are no API keys." />
}

/** When a key expires, and whether that is soon. */
export function Expiry({ apiKey, reader }: { readonly apiKey: ApiKey; readonly reader: Reader }) {
  return (
    <span>
      <Time time={apiKey.expiresAt} none="Never" reader={reader} />{' '}
      {apiKey.expiresSoon && <span class="badge warn">soon</span>}
    </span>
  )
}
