/** GET /internal/principals/{username} and GET /internal/feed: principal records, and the instance id of their feed. */

import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { feedExchange } from '../../../shared/protocol/internal-api/feed.ts'
import { principalExchange } from '../../../shared/protocol/internal-api/principal.ts'
import { instanceHeader } from '../../../shared/protocol/internal-api/responses.ts'
import type { InstancePrincipal } from '../../../shared/protocol/principal/record.ts'
import type { Sight } from '../../services/narrow.ts'
import { defineInternalEndpoint, type InternalEndpoint } from './endpoint.ts'

/** Services that these endpoints use. */
export interface PrincipalEndpointPorts {
  /** What a service of this resource server sees. @throws Unavailable */
  sightOf(resourceServer: string): Promise<Sight>
  /** The record as the database has it now. */
  principal(username: string): Promise<InstancePrincipal>
  /** The instance id of the database, which names the change feed. */
  instanceId(): Promise<string>
}

/** The endpoints about principals. */
export const principalEndpoints = ({ principal, instanceId, sightOf }: PrincipalEndpointPorts): InternalEndpoint[] => [
  defineInternalEndpoint(principalExchange, async ({ path, client: { proven } }) => {
    const { instanceId, record } = await principal(path.username)
    const headers = { [instanceHeader]: instanceId }
    if (!record) throw new ProblemError('not-found', 'There is no such user.', { headers })
    if (!proven) return { body: record, headers }
    const { seesRight } = await sightOf(proven.service.resourceServer.id)
    return { body: { ...record, rights: record.rights.filter(seesRight) }, headers }
  }),
  defineInternalEndpoint(feedExchange, async () => ({ body: { instanceId: await instanceId() } })),
]
