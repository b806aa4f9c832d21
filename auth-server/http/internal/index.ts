/** All endpoints for deal servers and other services. */

import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { type DeclaredRight, declaredRightsExchange } from '../../../shared/protocol/internal-api/declared-rights.ts'
import { limitRefusalsExchange } from '../../../shared/protocol/internal-api/limit-refusals.ts'
import {
  type NoteWebhookChanges,
  webhookChangesExchange,
} from '../../../shared/protocol/internal-api/webhook-changes.ts'
import { type NoteWebhookPauses, webhookPausesExchange } from '../../../shared/protocol/internal-api/webhook-pauses.ts'
import type { NoteRefusal } from '../../../shared/server/login-throttle/limit-refusals.ts'
import { type CredentialEndpointPorts, credentialEndpoints } from './credentials.ts'
import { defineInternalEndpoint } from './endpoint.ts'
import { type FeedStreamPorts, feedStreamEndpoint } from './feed-stream.ts'
import { type InternalPorts, internalRoutes } from './pipeline.ts'
import { type PrincipalEndpointPorts, principalEndpoints } from './principals.ts'
import { type ServiceEndpointPorts, serviceEndpoints } from './service-exchanges.ts'

/** Services that the endpoints use. */
export interface InternalEndpointPorts
  extends PrincipalEndpointPorts,
    Omit<CredentialEndpointPorts, 'secrets'>,
    Omit<ServiceEndpointPorts, 'clock'> {
  readonly feedReader: FeedStreamPorts['feedReader']
  readonly services: FeedStreamPorts['services']
  readonly feedStreams: FeedStreamPorts['feedStreams']
  readonly noteRefusal: NoteRefusal
  /** Adds rights that the pair lacks. @throws ProblemError */
  readonly declareRights: (rights: readonly DeclaredRight[], requestId: string) => Promise<void>
  readonly noteWebhookPauses: NoteWebhookPauses
  readonly noteWebhookChanges: NoteWebhookChanges
}

/** Creates the routes below `/internal`. */
export const createInternalRoutes = (access: InternalPorts, ports: InternalEndpointPorts): Route[] =>
  internalRoutes(access, [
    ...principalEndpoints(ports),
    feedStreamEndpoint({ ...access, ...ports }),
    ...credentialEndpoints({ ...ports, secrets: access.secrets }),
    ...serviceEndpoints({ ...ports, clock: access.clock }),
    defineInternalEndpoint(limitRefusalsExchange, async ({ body: { refusals } }) => {
      await Promise.all(refusals.map(ports.noteRefusal))
      return { body: undefined }
    }),
    defineInternalEndpoint(declaredRightsExchange, async ({ body: { rights }, request: { requestId } }) => {
      await ports.declareRights(rights, requestId)
      return { body: undefined }
    }),
    defineInternalEndpoint(webhookPausesExchange, async ({ body: { pauses } }) => {
      await ports.noteWebhookPauses(pauses)
      return { body: undefined }
    }),
    defineInternalEndpoint(webhookChangesExchange, async ({ body: { changes } }) => {
      await ports.noteWebhookChanges(changes)
      return { body: undefined }
    }),
  ])
