import type { Clock } from '../../../shared/platform/clock.ts'
import type { UserLimitsOptions } from '../../../shared/platform/http/user-limits.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { BasicPorts } from '../../../shared/protocol/authentication/basic/basic.ts'
import type { RequireRecentProof } from '../../../shared/protocol/authentication/recent-proof.ts'
import type { UseSignature } from '../../../shared/protocol/authentication/signed-request/used-signatures.ts'
import type { DeclaredRight } from '../../../shared/protocol/internal-api/declared-rights.ts'
import type { ServiceDescription } from '../../../shared/protocol/internal-api/service.ts'
import type { NoteWebhookChanges } from '../../../shared/protocol/internal-api/webhook-changes.ts'
import type { NoteWebhookPauses } from '../../../shared/protocol/internal-api/webhook-pauses.ts'
import type { Catalogue } from '../../../shared/protocol/principal/catalogue.ts'
import type { InstancePrincipal } from '../../../shared/protocol/principal/record.ts'
import type { NoteRefusal } from '../../../shared/server/login-throttle/limit-refusals.ts'
import type { ApiKeys } from '../../api-keys/api-keys.ts'
import type { StoredSessions } from '../../logins/use-session.ts'
import type { FeedReader } from '../../principals/feed-reader.ts'
import type { InstanceCatalogue } from '../../principals/principal-record.ts'
import type { KnownService } from '../../services/service-secrets.ts'
import type { Services } from '../../services/services.ts'
import type { DigestSecrets } from '../../users/digest-secrets.ts'
import type { UseInternalNonce } from './nonces.ts'
import type { DescribedRequest } from './received-request.ts'
import type { ServiceOf } from './service-of.ts'

/** A caller of a service, and the version of the principal record that it was accepted by. */
export interface VerifiedCaller {
  readonly caller: Caller
  readonly version: number
}

/** The services behind the routes below `/internal`. */
export interface InternalServices {
  readonly apiKeys: ApiKeys
  /** The catalogue as the database has it now. */
  catalogue(): Promise<InstanceCatalogue>
  readonly clock: Clock
  /** Adds rights that the pair lacks. @throws ProblemError */
  readonly declareRights: (rights: readonly DeclaredRight[], requestId: string) => Promise<void>
  /** What the auth server tells each service of itself. */
  describe(): Omit<ServiceDescription, 'id' | 'version' | 'resourceServer'>
  readonly digestSecrets: DigestSecrets
  readonly feedReader: FeedReader
  /** How many streams one service, and all services, may have open at once. The pair's are not counted. */
  readonly feedStreams: UserLimitsOptions
  /** The instance id of the database. Every success carries it in a header field. @throws Unavailable */
  instanceId(): Promise<string>
  readonly noteRefusal: NoteRefusal
  readonly noteWebhookChanges: NoteWebhookChanges
  readonly noteWebhookPauses: NoteWebhookPauses
  /** The record as the database has it now. */
  principal(username: string): Promise<InstancePrincipal>
  /** The keys that are published now. Every response carries them in a header field. */
  publishedKeys(): string
  readonly requireRecentProof: RequireRecentProof
  readonly serviceOf: ServiceOf
  /** All accepted values of SERVICE_SECRET. */
  readonly serviceSecrets: readonly string[]
  readonly services: Services
  readonly sessions: StoredSessions
  /** The catalogue as services of this resource server see it. @throws Unavailable */
  sightOf(resourceServer: string): Promise<Catalogue>
  /** The status of a problem. */
  statusOf(code: string): number
  readonly useNonce: UseInternalNonce
  /** Uses a signature at this service. */
  useSignature(service: KnownService): UseSignature
  readonly verifyBasic: BasicPorts['verify']
  /** Verifies the credential of a request at this service. @throws ProblemError for a refusal; Unavailable */
  verifyCaller(service: KnownService, request: DescribedRequest): Promise<VerifiedCaller>
}
