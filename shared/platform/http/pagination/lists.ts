/**
 * Lists in pages, for both servers: `limit` and `cursor` in the query, the cursor of the next page in the answer, and a
 * `Link` to the next page (RFC 8288) that repeats the query.
 */
import type { Page, PageRequest } from '../../pagination.ts'
import type { HttpRequest } from '../request.ts'
import { type HttpResponse, jsonResponse } from '../response.ts'
import type { Cursors, ListScope } from './cursors.ts'

interface PageParameters {
  readonly limit: number
  readonly cursor?: string | undefined
}

/** One request for a page of a list. */
export interface ListRequest {
  readonly page: PageRequest
  /** `{items, nextCursor}`, and the header fields that belong to it. */
  reply<Item, Shown>(page: Page<Item>, represent: (item: Item) => Shown): ListReply<Shown>
  /** 200 with `{items, nextCursor}`. */
  answer<Item>(page: Page<Item>, options: ListResponseOptions<Item>): HttpResponse
  /** 200 with the items as an array. The next page is in `Link` only. */
  answerBare<Item>(page: Page<Item>, options: ListResponseOptions<Item>): HttpResponse
}

interface ListResponseOptions<Item> {
  readonly represent: (item: Item) => unknown
  readonly headers: HttpResponse['headers']
}

interface ListReply<Shown> {
  readonly body: { readonly items: readonly Shown[]; readonly nextCursor: string | null }
  readonly headers: { readonly link?: string }
}

/** The lists of one server. */
export interface Lists {
  /** Reads the page that a request asks for. @throws ProblemError `invalid-cursor` */
  open(request: HttpRequest, scope: ListScope, parameters: PageParameters): ListRequest
}

/** Lists of a server that clients see at `origin`. */
export const createLists = ({ origin, cursors }: { origin: string; cursors: Cursors }): Lists => ({
  open: (request, scope, { limit, cursor }) => {
    const reply = <Item, Shown>({ items, next }: Page<Item>, represent: (item: Item) => Shown): ListReply<Shown> => {
      const nextCursor = next === undefined ? null : cursors.write(scope, next)
      const link = nextCursor === null ? {} : { link: `<${origin}${nextTarget(request, nextCursor)}>; rel="next"` }
      return { body: { items: items.map(represent), nextCursor }, headers: link }
    }
    return {
      page: { limit, after: cursor === undefined ? undefined : cursors.read(scope, cursor) },
      reply,
      answer: (page, { represent, headers }) => {
        const { body, headers: link } = reply(page, represent)
        return jsonResponse(200, body, { ...headers, ...link })
      },
      answerBare: (page, { represent, headers }) => {
        const { body, headers: link } = reply(page, represent)
        return jsonResponse(200, body.items, { ...headers, ...link })
      },
    }
  },
})

/** The target of the next page, without parameters of the credential: a signature belongs to one request only. */
function nextTarget(request: HttpRequest, cursor: string): string {
  const kept = [...request.query].filter(([name]) => name !== 'cursor' && !request.isCredentialParameter(name))
  return `${request.path}?${new URLSearchParams([...kept, ['cursor', cursor]])}`
}
