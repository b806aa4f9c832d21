/** What deal servers ask: the table of contents. */
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import type { BasicPorts } from '../../../shared/protocol/authentication/basic/basic.ts'
import type { NoteRefusal } from '../../../shared/protocol/login-throttle/limit-refusals.ts'
import type { ApiKeys } from '../../api-keys/api-keys.ts'
import type { StoredSessions } from '../../logins/use-session.ts'
import type { DigestSecrets } from '../../users/digest-secrets.ts'
import { apiKeyEndpoints } from './api-keys.ts'
import { digestSecretEndpoint } from './digest-secrets.ts'
import {
  type InternalPorts,
  internalRoutes,
  type PrincipalEndpointPorts,
  principalEndpoints,
} from './internal-endpoint.ts'
import { limitRefusalEndpoint } from './limit-refusals.ts'
import { passwordEndpoint } from './passwords.ts'
import { sessionEndpoints } from './sessions.ts'

/** What the answers come from. */
export interface InternalEndpointPorts extends PrincipalEndpointPorts {
  readonly apiKeys: Pick<ApiKeys, 'material' | 'noteUse'>
  readonly digestSecrets: Pick<DigestSecrets, 'find'>
  readonly sessions: StoredSessions
  readonly verifyBasic: BasicPorts['verify']
  readonly noteRefusal: NoteRefusal
}

/** The routes below `/internal`. */
export const createInternalRoutes = (access: InternalPorts, ports: InternalEndpointPorts): Route[] =>
  internalRoutes(access, [
    ...principalEndpoints(ports),
    ...apiKeyEndpoints(ports),
    digestSecretEndpoint(ports.digestSecrets),
    passwordEndpoint({ secrets: access.secrets, verify: ports.verifyBasic }),
    ...sessionEndpoints(ports.sessions),
    limitRefusalEndpoint(ports.noteRefusal),
  ])
