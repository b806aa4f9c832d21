import type { Cors } from '../../../shared/platform/http/cors.ts'
import type { Cursors } from '../../../shared/platform/http/pagination/cursors.ts'
import type { AppOptions, Route } from '../../../shared/platform/http/server/routes.ts'
import type { UserLimitsOptions } from '../../../shared/platform/http/user-limits.ts'
import type { Systems } from '../../../shared/platform/systems/systems.ts'
import type { Authentication } from '../../../shared/protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../../shared/protocol/authentication/cross-site.ts'
import type { RequireRecentProof } from '../../../shared/protocol/authentication/recent-proof.ts'
import type { ReportedChange } from '../../../shared/protocol/internal-api/webhook-changes.ts'
import type { Console } from '../../../shared/server/pages/console.ts'
import type { ExecuteCommand } from '../../commands/execute.ts'
import type { FindUserId } from '../../commands/find-assignable-users.ts'
import type { RejectProposal } from '../../commands/reject.ts'
import type { EventStreams } from '../../events/event-streams.ts'
import type { DealReader } from '../../queries/ports.ts'
import type { WebhookManagement } from '../../webhooks/manage.ts'

/** What the HTTP interface of the deal server works with. */
export interface DealServices extends Systems, Authentication {
  readonly executeCommand: ExecuteCommand
  readonly rejectProposal: RejectProposal
  /** How many batches may be under way in this process. */
  readonly batches: UserLimitsOptions
  readonly reader: DealReader
  readonly findUserId: FindUserId
  readonly events: EventStreams
  readonly webhooks: WebhookManagement
  readonly requireRecentProof: RequireRecentProof
  /** Reports a change of a webhook in the background, for the audit log. */
  readonly noteWebhookChange: (change: ReportedChange) => void
  readonly console: Console
  /** Routes without authentication. */
  readonly openRoutes: readonly Route[]
  readonly refuseCrossSite: RefuseCrossSite
  /** Refuses pages whose scripts may not call at all, with whichever credential. */
  readonly refuseForeignPage: RefuseCrossSite
  readonly cursors: Cursors
  /** Called for every request after its response. */
  readonly observe: NonNullable<AppOptions['observe']>
  readonly cors: Cors
}
