/** The console of the auth server: signing in, the reader's account, administration. All pages are below `/account`. */
import type { Clock } from '../shared/platform/clock.ts'
import type { Route } from '../shared/platform/http/server/routes.ts'
import { overviewPage } from './account/overview.tsx'
import { passwordPage } from './account/password.tsx'
import { securityPage } from './account/security.tsx'
import { sessionsPage } from './account/sessions.tsx'
import { tokensPage } from './account/tokens.tsx'
import { auditPage } from './administration/audit.tsx'
import { auditExportPage } from './administration/audit-export.ts'
import { type KeyRingPageParts, keyRingPage } from './administration/key-ring.tsx'
import { createUserPage } from './administration/new-user.tsx'
import { resetPasswordPage } from './administration/reset-password.tsx'
import { resourceServerPage, resourceServersPage } from './administration/resource-servers.tsx'
import { rolePage, rolesPage } from './administration/roles.tsx'
import { userPage } from './administration/user.tsx'
import { userApiKeysPage, userSessionsPage } from './administration/user-lists.tsx'
import { usersPage } from './administration/users.tsx'
import { allKeys, ownKeys } from './api-keys/api-key.ts'
import { apiKeyListPage } from './api-keys/list.tsx'
import { newApiKeyPage } from './api-keys/new.tsx'
import { apiKeyPage } from './api-keys/one.tsx'
import type { AuthPage, AuthRoutes, OpenAuthPage } from './frame/auth-api.ts'
import { type ConsolePorts, type ConsoleSettings, consoleRoutes } from './frame/console.tsx'
import type { Download } from './frame/downloads.ts'
import { signInPage } from './sign-in/sign-in.tsx'

/** The settings of the auth server that its pages show. */
export interface AuthConsoleSettings extends ConsoleSettings {
  readonly keyRules: KeyRingPageParts['rules']
}

/** Other parts that the pages use. */
export interface AuthConsolePorts extends ConsolePorts {
  readonly clock: Clock
  readonly download: Download
}

const accountPages = (hasRoute: (path: string) => boolean): (AuthPage | OpenAuthPage)[] => [
  overviewPage(),
  passwordPage(),
  securityPage(),
  sessionsPage(),
  tokensPage({ keySigned: hasRoute('/key-signed-tokens') }),
]

const administrationPages = ({ keyRules }: AuthConsoleSettings, { clock, download }: AuthConsolePorts): AuthPage[] => [
  usersPage(),
  createUserPage(),
  userSessionsPage(),
  userApiKeysPage(),
  userPage(),
  rolesPage(),
  rolePage(),
  resourceServersPage(),
  resourceServerPage(),
  auditPage(),
  auditExportPage(download),
  keyRingPage({ clock, rules: keyRules }),
]

const apiKeyPages = [ownKeys, allKeys].flatMap((place) => [
  apiKeyListPage(place),
  newApiKeyPage(place),
  apiKeyPage(place),
])

/**
 * The routes of all pages. `/console` leads to `/account`: where both servers have one origin, `/console` belongs to
 * the deal server.
 */
export const authConsoleRoutes = (settings: AuthConsoleSettings, ports: AuthConsolePorts): Route[] => {
  const hasRoute = (path: string) => ports.routes.some((route) => route.path === path)
  return [
    ...consoleRoutes<AuthRoutes>(settings, ports, [
      signInPage(),
      resetPasswordPage(),
      ...accountPages(hasRoute),
      ...apiKeyPages,
      ...administrationPages(settings, ports),
    ]),
    {
      methods: ['GET'],
      path: '/console',
      handle: () => ({ status: 303, headers: { location: '/account', 'cache-control': 'no-store' }, body: null }),
    },
  ]
}
