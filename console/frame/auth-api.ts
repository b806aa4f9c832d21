/** The API of the auth server as its pages see it: types alone, inferred from the endpoints. */
import type { createEndpoints } from '../../auth-server/http/endpoints/index.ts'
import type { authorizeEndpoints } from '../../auth-server/http/oauth/authorize.ts'
import type { deviceEndpoints } from '../../auth-server/http/oauth/device.ts'
import type { logoutEndpoints } from '../../auth-server/http/oauth/logout.ts'
import type { RoutesOf } from '../../shared/platform/http/route-types.ts'
import type { Api } from './api.ts'
import type { OpenPage, Page, SignedInVisit } from './console.tsx'

/** The routes, by name. */
export type AuthRoutes = RoutesOf<
  ReturnType<
    typeof createEndpoints | typeof authorizeEndpoints | typeof deviceEndpoints | typeof logoutEndpoints
  >[number]
>

/** The JSON of a success of this route. */
export type AuthReply<Name extends keyof AuthRoutes> = AuthRoutes[Name]['reply']

/** The API. */
export type AuthApi = Api<AuthRoutes>

/** A page of the auth server for readers who are signed in. */
export type AuthPage = Page<AuthRoutes>

/** A page of the auth server for all readers. */
export type OpenAuthPage = OpenPage<AuthRoutes>

/** A request for such a page by a reader who is signed in. */
export type AuthVisit = SignedInVisit<AuthRoutes>
