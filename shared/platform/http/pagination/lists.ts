/**
 * Lists in pages, for both servers: `limit` and `cursor` in the query, the cursor of the next page in the answer, and a
 * `Link` to the next page (RFC 8288) that repeats the query.
 */
import type { Page, PageRequest } from '../../pagination.ts'
import type { HttpCall } from '../request.ts'
import { type Answer, jsonAnswer } from '../response.ts'
import type { Cursors, ListScope } from './cursors.ts'

/** `limit` and `cursor` from the query. */
export interface PageParameters {
  readonly limit: number
  readonly cursor?: string | undefined
}

/** One request for a page of a list. */
export interface ListCall {
  readonly page: PageRequest
  /** `{items, nextCursor}`, and the header fields that belong to it. */
  reply<Item, Shown>(page: Page<Item>, represent: (item: Item) => Shown): ListReply<Shown>
  /** 200 with `{items, nextCursor}`. */
  answer<Item>(page: Page<Item>, options: ListAnswerOptions<Item>): Answer
  /** 200 with the items as an array. The next page is in `Link` only. */
  answerBare<Item>(page: Page<Item>, options: ListAnswerOptions<Item>): Answer
}

/** The representation of items, and further header fields. */
export interface ListAnswerOptions<Item> {
  readonly represent: (item: Item) => unknown
  readonly headers: Answer['headers']
}

/** A page of a list, before it is an answer. */
export interface ListReply<Shown> {
  readonly body: { readonly items: readonly Shown[]; readonly nextCursor: string | null }
  readonly headers: { readonly link?: string }
}

/** The lists of one server. */
export interface Lists {
  /** Reads the page that a request asks for. @throws Refused `invalid-cursor` */
  open(call: HttpCall, scope: ListScope, parameters: PageParameters): ListCall
}

/** Lists of a server that clients see at `origin`. */
export const createLists = ({ origin, cursors }: { origin: string; cursors: Cursors }): Lists => ({
  open: (call, scope, { limit, cursor }) => {
    const reply = <Item, Shown>({ items, next }: Page<Item>, represent: (item: Item) => Shown): ListReply<Shown> => {
      const nextCursor = next === undefined ? null : cursors.write(scope, next)
      const link = nextCursor === null ? {} : { link: `<${origin}${nextTarget(call, nextCursor)}>; rel="next"` }
      return { body: { items: items.map(represent), nextCursor }, headers: link }
    }
    return {
      page: { limit, after: cursor === undefined ? undefined : cursors.read(scope, cursor) },
      reply,
      answer: (page, { represent, headers }) => {
        const { body, headers: link } = reply(page, represent)
        return jsonAnswer(200, body, { ...headers, ...link })
      },
      answerBare: (page, { represent, headers }) => {
        const { body, headers: link } = reply(page, represent)
        return jsonAnswer(200, body.items, { ...headers, ...link })
      },
    }
  },
})

/** The target of the next page, without parameters of the credential: a signature belongs to one request only. */
function nextTarget(call: HttpCall, cursor: string): string {
  const kept = [...call.query].filter(([name]) => name !== 'cursor' && !call.isCredentialParameter(name))
  return `${call.path}?${new URLSearchParams([...kept, ['cursor', cursor]])}`
}
