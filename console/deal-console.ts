/** The console of the deal server: what staff do with deals. All pages are below `/console`. */

import type { IdSource } from '../shared/platform/ids.ts'
import type { Console } from '../shared/server/pages/console.ts'
import { bulkPage } from './bulk/bulk-page.tsx'
import { dashboardPage } from './dashboard/dashboard-page.tsx'
import { dealPage } from './deal/deal-page.tsx'
import { commandPage } from './deal-forms/command-page.tsx'
import { newDealPage } from './deal-forms/new-deal-page.tsx'
import { consoleRoutes } from './frame/console.tsx'
import type { DealPage, DealRoutes } from './frame/deal-api.ts'
import { createDownloads } from './frame/downloads.ts'
import { dealsPage } from './lists/deals-page.tsx'
import { proposalsPage } from './proposals/list-page.tsx'
import { proposalPage } from './proposals/proposal-page.tsx'
import { signedOutPage } from './sign-in/signed-out.ts'
import { tasksPage } from './tasks/tasks-page.tsx'
import { exportFile } from './transfer/export-file.ts'
import { importPage } from './transfer/import-page.tsx'
import { newWebhookPage, webhooksPage } from './webhooks/list-page.tsx'
import { deletePage, webhookForms, webhookPage } from './webhooks/webhook-page.tsx'

/** The routes of all pages. */
export const dealConsole: Console = (server) => [
  ...server.routes,
  ...consoleRoutes<DealRoutes>(server, [
    dashboardPage(server.clock),
    dealsPage(server.clock),
    bulkPage(),
    ...dealPages(server.ids),
    exportFile(createDownloads(server.downloads)),
    importPage(),
    tasksPage(server.clock),
    proposalsPage(),
    proposalPage(),
    signedOutPage(),
    webhooksPage(),
    newWebhookPage(),
    webhookPage(),
    ...webhookForms(),
    deletePage(),
  ]),
]

/** All pages of one deal. */
const dealPages = (ids: IdSource): readonly DealPage[] => [newDealPage(ids), commandPage(ids), dealPage(ids)]
