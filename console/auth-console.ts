/** The console of the auth server: signing in, the reader's account, administration. All pages are below `/account`. */
import type { AuthConsoleServer, Console } from '../shared/server/pages/console.ts'
import { applicationsPage } from './account/applications.tsx'
import { overviewPage } from './account/overview.tsx'
import { passwordPage } from './account/password.tsx'
import { securityPage } from './account/security.tsx'
import { sessionsPage } from './account/sessions.tsx'
import { tokensPage } from './account/tokens.tsx'
import { auditPage } from './administration/audit.tsx'
import { auditExportPage } from './administration/audit-export.ts'
import { keyRingPage } from './administration/key-ring.tsx'
import { createUserPage } from './administration/new-user.tsx'
import { resetPasswordPage } from './administration/reset-password.tsx'
import { resourceServerPages } from './administration/resource-servers.tsx'
import { rolePages } from './administration/roles.tsx'
import { userPage } from './administration/user.tsx'
import { userApiKeysPage, userSessionsPage } from './administration/user-lists.tsx'
import { usersPage } from './administration/users.tsx'
import { allKeys, ownKeys } from './api-keys/api-key.ts'
import { apiKeyListPage } from './api-keys/list.tsx'
import { newApiKeyPage } from './api-keys/new.tsx'
import { apiKeyPage } from './api-keys/one.tsx'
import { consentPage } from './authorization/consent.tsx'
import { devicePage } from './authorization/device.tsx'
import { withRefusedRequests } from './authorization/refused-request.ts'
import { signOutPage } from './authorization/sign-out.tsx'
import { clientPages } from './clients/clients.tsx'
import { servicePages } from './clients/services.tsx'
import type { AuthPage, AuthRoutes, OpenAuthPage } from './frame/auth-api.ts'
import { consoleRoutes } from './frame/console.tsx'
import { createDownloads } from './frame/downloads.ts'
import { signInPage, withSignInPage } from './sign-in/sign-in.tsx'

const accountPages = (hasRoute: (path: string) => boolean): (AuthPage | OpenAuthPage)[] => [
  overviewPage(),
  passwordPage(),
  securityPage(),
  sessionsPage(),
  applicationsPage(),
  tokensPage({ keySigned: hasRoute('/key-signed-tokens') }),
]

const administrationPages = ({ keyRules, clock, downloads }: AuthConsoleServer): AuthPage[] => [
  usersPage(),
  createUserPage(),
  userSessionsPage(),
  userApiKeysPage(),
  userPage(),
  ...rolePages(),
  ...resourceServerPages(),
  ...servicePages(),
  ...clientPages(),
  auditPage(),
  auditExportPage(createDownloads(downloads)),
  keyRingPage({ clock, rules: keyRules }),
]

const apiKeyPages = [ownKeys, allKeys].flatMap((place) => [
  apiKeyListPage(place),
  newApiKeyPage(place),
  apiKeyPage(place),
])

/**
 * The routes of the API with the sign-in page, and those of all pages. `/console` leads to `/account`: where both
 * servers have one origin, `/console` belongs to the deal server.
 */
export const authConsole: Console<AuthConsoleServer> = (server) => {
  const hasRoute = (path: string) => server.routes.some((route) => route.path === path)
  return [
    ...withRefusedRequests(withSignInPage(server.routes, server, server.answer), server, server.answer),
    ...consoleRoutes<AuthRoutes>(server, [
      signInPage(),
      resetPasswordPage(),
      consentPage(),
      devicePage(),
      signOutPage(),
      ...accountPages(hasRoute),
      ...apiKeyPages,
      ...administrationPages(server),
    ]),
    {
      methods: ['GET'],
      path: '/console',
      handle: () => ({ status: 303, headers: { location: '/account', 'cache-control': 'no-store' }, body: null }),
    },
  ]
}
