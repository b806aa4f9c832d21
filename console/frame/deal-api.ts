/** The API of the deal server as its pages see it: its types follow from the schemas of routes and the use cases. */
import type * as z from 'zod'
import type { proposalEndpoints } from '../../deal-server/http/decide-proposals.ts'
import type { routeSchemas } from '../../deal-server/http/styles/route-schemas.ts'
import type { webhookEndpoints } from '../../deal-server/http/webhooks/endpoints.ts'
import type { createDeal } from '../../deal-server/use-cases/create-deal.ts'
import type { Command } from '../../deal-server/use-cases/define-use-case.ts'
import type { CommandOnDeal } from '../../deal-server/use-cases/index.ts'
import type { Readable, RoutesOf } from '../../shared/platform/http/route-types.ts'
import type { Api } from './api.ts'
import type { Page, SignedInVisit } from './console.tsx'

/** The members of a body as a reader entered them: the API names each that is wrong. */
export class EnteredParameters {
  readonly #members: Readonly<Record<string, unknown>>

  constructor(members: Readonly<Record<string, unknown>>) {
    this.#members = members
  }

  /** For `JSON.stringify`. */
  toJSON(): Readonly<Record<string, unknown>> {
    return this.#members
  }
}

type Schemas = typeof routeSchemas

type In<Route, Part extends string> = Route extends { readonly [Name in Part]: infer Schema extends z.ZodType }
  ? Schema
  : z.ZodUndefined

type BodyOf<Sent> = Sent extends undefined ? undefined : Readable<Sent> | EnteredParameters

type DescribedRoutes = {
  readonly [Name in keyof Schemas]: {
    readonly name: Name
    readonly query: keyof z.input<In<Schemas[Name], 'query'>> & string
    readonly body: undefined
    readonly reply: Readable<z.output<In<Schemas[Name], 'reply'>>>
  }
}

type Endpoints = RoutesOf<ReturnType<typeof webhookEndpoints | typeof proposalEndpoints>[number]>

type EndpointRoutes = {
  readonly [Name in keyof Endpoints]: Omit<Endpoints[Name], 'body'> & {
    readonly body: BodyOf<Endpoints[Name]['body']>
  }
}

interface CommandRoute<Name extends string, Defined extends Command> {
  readonly name: Name
  readonly query: 'validateOnly'
  readonly body: BodyOf<z.input<Defined['params']>>
  /** Nothing with `Prefer: return=minimal`. */
  readonly reply: DescribedRoutes['GET /rest/v1/deals/:id']['reply'] | undefined
}

type DealCommandRoutes = {
  readonly [Defined in CommandOnDeal as `PUT /rest/v1/deals/:id/${Defined['verb']}`]: CommandRoute<
    `PUT /rest/v1/deals/:id/${Defined['verb']}`,
    Defined
  >
}

type BatchRoutes = {
  /** Commands as lines of JSON; the outcomes come one by one. */
  readonly 'POST /commands': {
    readonly name: 'POST /commands'
    readonly query: 'validateOnly'
    readonly body: string
    readonly reply: undefined
  }
  readonly 'POST /rest/v1/deals': CommandRoute<'POST /rest/v1/deals', typeof createDeal>
}

/** The routes, by name. */
export type DealRoutes = DescribedRoutes & EndpointRoutes & DealCommandRoutes & BatchRoutes

/** The JSON of a success of this route. */
export type DealReply<Name extends keyof DealRoutes> = DealRoutes[Name]['reply']

/** The API. */
export type DealApi = Api<DealRoutes>

/** A page of the deal server. */
export type DealPage = Page<DealRoutes>

/** A request for such a page. */
export type DealVisit = SignedInVisit<DealRoutes>
