/** The typed calls of one server: openapi-fetch with refusals as errors, and pages. */
import createClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch'
import type { HttpMethod, MediaType, PathsWithMethod, RequiredKeysOf } from 'openapi-typescript-helpers'
import { asDocument, KeyholdProblem, KeyholdProposed } from './core/problem.ts'
import type { components as DealComponents } from './generated/deal.ts'

/** A success: its body, and the whole answer with its header fields. */
export interface Success<Data> {
  /**
   * Undefined where the answer has no body: 304 for `If-None-Match`, 204 for `Prefer: return=minimal` or for a caller
   * without the right `deal.read`.
   */
  readonly data: Data
  readonly response: Response
}

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** The cursor of the next page; undefined on the last one. */
  readonly nextCursor: string | undefined
}

type Operation<Paths, Path extends keyof Paths, Method extends HttpMethod> = Paths[Path] extends {
  [Name in Method]: infer Found extends Record<string | number, unknown>
}
  ? Found
  : never

/** The body of a success, or of the successes that have one. */
type DataOf<Paths, Path extends keyof Paths, Method extends HttpMethod, Init> = BodyOf<
  FetchResponse<Operation<Paths, Path, Method>, Init, MediaType>['data']
>

/** A command that waits is thrown. */
type Proposed = DealComponents['schemas']['ProposedCommand']

type BodyOf<Data> = [NonNullable<Data>] extends [never] ? undefined : Exclude<NonNullable<Data>, Proposed>

/** The items of a list, which is an object with `items` or an array. */
type ItemOf<Data> = Data extends { items: readonly (infer Item)[] }
  ? Item
  : Data extends readonly (infer Item)[]
    ? Item
    : never

/** Parameters, body and header fields of a call. */
type InitOf<Paths, Path extends keyof Paths, Method extends HttpMethod> = MaybeOptionalInit<
  Paths[Path],
  Method & keyof Paths[Path]
>

/** Left out where the route needs none. */
type InitParameters<Init> =
  RequiredKeysOf<Init> extends never
    ? [(Init & { [option: string]: unknown })?]
    : [Init & { [option: string]: unknown }]

/**
 * A call by path; parameters and body are those of the route.
 * @throws KeyholdProblem, KeyholdProposed, KeyholdUnreachable
 */
type Call<Paths extends object, Method extends HttpMethod> = <
  Path extends PathsWithMethod<Paths, Method>,
  Init extends InitOf<Paths, Path, Method>,
>(
  path: Path,
  ...init: InitParameters<Init>
) => Promise<Success<DataOf<Paths, Path, Method, Init>>>

/** The typed calls of one server. */
export interface Api<Paths extends object> {
  readonly GET: Call<Paths, 'get'>
  readonly PUT: Call<Paths, 'put'>
  readonly POST: Call<Paths, 'post'>
  readonly PATCH: Call<Paths, 'patch'>
  readonly DELETE: Call<Paths, 'delete'>
  /** The items of all pages of a list. A page is asked for when its first item is. */
  items<Path extends PathsWithMethod<Paths, 'get'>, Init extends InitOf<Paths, Path, 'get'>>(
    path: Path,
    ...init: InitParameters<Init>
  ): AsyncGenerator<ItemOf<DataOf<Paths, Path, 'get', Init>>, void, undefined>
  /** The pages of a list. */
  pages<Path extends PathsWithMethod<Paths, 'get'>, Init extends InitOf<Paths, Path, 'get'>>(
    path: Path,
    ...init: InitParameters<Init>
  ): AsyncGenerator<Page<ItemOf<DataOf<Paths, Path, 'get', Init>>>, void, undefined>
}

interface LooseInit {
  readonly params?: { readonly query?: Readonly<Record<string, unknown>> }
  readonly [option: string]: unknown
}

type LooseCall = (path: string, init?: LooseInit) => Promise<Success<unknown>>

/** Creates the calls of the server at `baseUrl`. */
export function createApi<Paths extends object>(
  baseUrl: string,
  fetch: (request: Request) => Promise<Response>,
): Api<Paths> {
  const client = createClient<Record<string, Record<string, never>>>({ baseUrl, fetch }) as unknown as Record<
    string,
    (path: string, init?: LooseInit) => Promise<{ data?: unknown; error?: unknown; response: Response }>
  >
  const call =
    (method: string): LooseCall =>
    async (path, init) => {
      const { data, error, response } = (await client[method]?.(path, init)) ?? { response: Response.error() }
      if (!response.ok && response.status !== 304) throw new KeyholdProblem(response, asDocument(error))
      if (response.status === 202 && data !== undefined) throw new KeyholdProposed(data as Proposed)
      return { data, response }
    }
  const [GET, PUT, POST, PATCH, DELETE] = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'].map(call)
  const pages = (path: string, init?: LooseInit) => pagesOf(call('GET'), path, init)
  async function* items(path: string, init?: LooseInit) {
    for await (const page of pages(path, init)) yield* page.items
  }
  return { GET, PUT, POST, PATCH, DELETE, pages, items } as unknown as Api<Paths>
}

async function* pagesOf(get: LooseCall, path: string, init: LooseInit = {}): AsyncGenerator<Page<unknown>> {
  let cursor: string | undefined
  do {
    const query = { ...init.params?.query, ...(cursor !== undefined && { cursor }) }
    const { data, response } = await get(path, { ...init, params: { ...init.params, query } })
    const page: { items?: unknown[]; nextCursor?: string | null } = Array.isArray(data) ? { items: data } : (data ?? {})
    const { items = [], nextCursor = cursorIn(response.headers.get('link')) } = page
    cursor = nextCursor ?? undefined
    yield { items, nextCursor: cursor }
  } while (cursor !== undefined)
}

/** The cursor of the next page. Its link names the public origin, which need not be the one that the client uses. */
function cursorIn(link: string | null): string | undefined {
  const next = (link ?? '').split(/,\s*(?=<)/).find((entry) => /;\s*rel="?next"?/.test(entry))
  const target = /<([^<>]*)>/.exec(next ?? '')?.[1]
  return target === undefined ? undefined : (new URL(target, 'http://x').searchParams.get('cursor') ?? undefined)
}
