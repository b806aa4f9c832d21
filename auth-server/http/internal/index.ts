/** All endpoints for deal servers and other services. */

import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { declaredRightsExchange } from '../../../shared/protocol/internal-api/declared-rights.ts'
import { limitRefusalsExchange } from '../../../shared/protocol/internal-api/limit-refusals.ts'
import { webhookChangesExchange } from '../../../shared/protocol/internal-api/webhook-changes.ts'
import { webhookPausesExchange } from '../../../shared/protocol/internal-api/webhook-pauses.ts'
import { credentialEndpoints } from './credentials.ts'
import { defineInternalEndpoint } from './endpoint.ts'
import { feedStreamEndpoint } from './feed-stream.ts'
import type { InternalServices } from './internal-services.ts'
import { internalRoutes } from './pipeline.ts'
import { principalEndpoints } from './principals.ts'
import { serviceEndpoints } from './service-exchanges.ts'

/** Creates the routes below `/internal`. */
export const createInternalRoutes = (services: InternalServices): Route[] =>
  internalRoutes(services, [
    ...principalEndpoints(services),
    feedStreamEndpoint(services),
    ...credentialEndpoints(services),
    ...serviceEndpoints(services),
    defineInternalEndpoint(limitRefusalsExchange, async ({ body: { refusals } }) => {
      await Promise.all(refusals.map(services.noteRefusal))
      return { body: undefined }
    }),
    defineInternalEndpoint(declaredRightsExchange, async ({ body: { rights }, request: { requestId } }) => {
      await services.declareRights(rights, requestId)
      return { body: undefined }
    }),
    defineInternalEndpoint(webhookPausesExchange, async ({ body: { pauses } }) => {
      await services.noteWebhookPauses(pauses)
      return { body: undefined }
    }),
    defineInternalEndpoint(webhookChangesExchange, async ({ body: { changes } }) => {
      await services.noteWebhookChanges(changes)
      return { body: undefined }
    }),
  ])
