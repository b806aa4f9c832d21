/** The console of the deal server: what staff do with deals. All pages are below `/console`. */
import type { Clock } from '../shared/platform/clock.ts'
import type { Route } from '../shared/platform/http/server/routes.ts'
import type { IdSource } from '../shared/platform/ids.ts'
import { bulkPage } from './bulk/bulk-page.tsx'
import { dashboardPage } from './dashboard/dashboard-page.tsx'
import { dealPages } from './deal/index.ts'
import { type ConsolePorts, type ConsoleSettings, consoleRoutes } from './frame/console.tsx'
import type { DealRoutes } from './frame/deal-api.ts'
import type { Download } from './frame/downloads.ts'
import { dealsPage } from './lists/deals-page.tsx'
import { signedOutPage } from './sign-in/signed-out.ts'
import { tasksPage } from './tasks/tasks-page.tsx'
import { exportFile } from './transfer/export-file.ts'
import { importPage } from './transfer/import-page.tsx'
import { newWebhookPage, webhooksPage } from './webhooks/list-page.tsx'
import { deletePage, webhookForms, webhookPage } from './webhooks/webhook-page.tsx'

/** The parts of the deal server that its console uses. */
export interface DealConsolePorts extends ConsolePorts {
  readonly clock: Clock
  /** Makes the ids of forms. */
  readonly ids: IdSource
  readonly download: Download
}

/** The routes of all pages. */
export const dealConsoleRoutes = (settings: ConsoleSettings, ports: DealConsolePorts): Route[] =>
  consoleRoutes<DealRoutes>(settings, ports, [
    dashboardPage(ports.clock),
    dealsPage(ports.clock),
    bulkPage(),
    ...dealPages(ports.ids),
    exportFile(ports.download),
    importPage(),
    tasksPage(ports.clock),
    signedOutPage(),
    webhooksPage(),
    newWebhookPage(),
    webhookPage(),
    ...webhookForms(),
    deletePage(),
  ])
