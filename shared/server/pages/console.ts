/** The console of a server, as a value: whoever starts a server hands the pages over, so that no server knows them. */
import type { Clock } from '../../platform/clock.ts'
import type { AnswerByRoute, Route } from '../../platform/http/server/routes.ts'
import type { UserLimitsOptions } from '../../platform/http/user-limits.ts'
import type { IdSource } from '../../platform/ids.ts'
import type { Authenticate } from '../../protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../protocol/authentication/cross-site.ts'
import type { ServerName } from '../../protocol/problems/catalogue.ts'

/** What a console uses of its server. */
export interface ConsoleServer {
  readonly server: ServerName
  readonly publicOrigins: Readonly<Record<ServerName, string>>
  /** The routes of the API. */
  readonly routes: readonly Route[]
  /** Answers by a route without throwing. */
  readonly answer: AnswerByRoute
  readonly authenticate: Authenticate
  readonly refuseCrossSite: RefuseCrossSite
  readonly clock: Clock
  readonly ids: IdSource
  /** How many downloads may be under way in this process. */
  readonly downloads: UserLimitsOptions
}

/** What the console of the auth server uses of it. */
export interface AuthConsoleServer extends ConsoleServer {
  /** When keys are due, which the page of keys says. */
  readonly keyRules: { readonly maxAgeMs: number }
}

/** The routes of the API, as browsers get them, and those of the pages. */
export type Console<Server extends ConsoleServer = ConsoleServer> = (server: Server) => readonly Route[]
