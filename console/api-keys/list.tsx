/** Lists of API keys: the reader's own, those of a user, and those of everybody. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { AuthPage } from '../frame/auth-api.ts'
import { type Column, Pager, Table, Time } from '../frame/content.tsx'
import { ErrorSummary, Field, type FieldParts, fieldErrors } from '../frame/fields.tsx'
import type { Reader } from '../frame/reader.ts'
import { strings } from '../texts/account.ts'
import { type ApiKey, allKeysRight, type KeyPlace, nameOf } from './api-key.ts'
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
      title: texts.title,
      status: problem?.status ?? 200,
      content: (
        <KeyFrame place={place} request={{ path, query }}>
          <ErrorSummary problem={problem} fields={[ownerField]} />
          <div class="head">
            {place.isOfAll ? (
              <OwnerFilter base={place.base} owner={owner} problem={problem} />
            ) : (
              <p class="hint">{texts.intro}</p>
            )}
            <a class="button" href={`${place.base}/new`}>
              {texts.make}
            </a>
          </div>
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

const ownerField: FieldParts = { name: 'username', label: texts.ofUser, kind: 'search', maxLength: 64, isFilter: true }

interface OwnerFilterParts {
  readonly base: string
  readonly owner: string | undefined
  readonly problem: ProblemDocument | undefined
}

function OwnerFilter({ base, owner, problem }: OwnerFilterParts) {
  return (
    <form method="get" action={base} class="row">
      <Field {...ownerField} value={owner} error={fieldErrors(problem).username} />
      <button type="submit" class="quiet">
        {texts.filter}
      </button>
    </form>
  )
}

interface ApiKeyTableParts {
  readonly keys: readonly ApiKey[]
  readonly place: KeyPlace
  readonly reader: Reader
}

/** The keys, each with a link to its page. */
export function ApiKeyTable({ keys, place, reader }: ApiKeyTableParts) {
  const columns: Column<ApiKey>[] = [
    {
      title: texts.name,
      cell: (key) => (
        <span>
          <a href={`${place.base}/${encodeURIComponent(key.id)}`}>{nameOf(key)}</a>{' '}
          {key.suspended && <span class="badge warn">{texts.suspended}</span>}
        </span>
      ),
    },
    ...(place.isOfAll ? [{ title: texts.owner, cell: ({ username }: ApiKey) => username }] : []),
    { title: texts.kind, cell: ({ kind }) => texts.kinds[kind] },
    {
      title: texts.rights,
      cell: ({ rights }) => (rights === null ? texts.allRights : texts.rightCount(rights.length)),
    },
    { title: texts.createdAt, cell: ({ createdAt }) => <Time time={createdAt} reader={reader} /> },
    {
      title: texts.lastUsedAt,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? texts.neverUsed : <Time time={lastUsedAt} reader={reader} />),
    },
    { title: texts.expiresAt, cell: (key) => <Expiry apiKey={key} reader={reader} /> },
  ]
  return <Table caption={texts.title} columns={columns} rows={keys} empty={texts.none} />
}

/** When a key expires, and whether that is soon. */
export function Expiry({ apiKey, reader }: { readonly apiKey: ApiKey; readonly reader: Reader }) {
  if (apiKey.expiresAt === null) return <span>{texts.never}</span>
  return (
    <span>
      <Time time={apiKey.expiresAt} reader={reader} />{' '}
      {apiKey.expiresSoon && <span class="badge warn">{texts.expiresSoon}</span>}
    </span>
  )
}
