/** Principal records, the catalogue of rights and roles, and the instance id of their feed. */

import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { catalogueExchange } from '../../../shared/protocol/internal-api/catalogue.ts'
import { feedExchange } from '../../../shared/protocol/internal-api/feed.ts'
import { principalExchange } from '../../../shared/protocol/internal-api/principal.ts'
import { instanceHeader } from '../../../shared/protocol/internal-api/responses.ts'
import type { InstancePrincipal } from '../../../shared/protocol/principal/record.ts'
import type { InstanceCatalogue } from '../../principals/principal-record.ts'
import { defineInternalEndpoint, type InternalEndpoint } from './endpoint.ts'

/** Services that these endpoints use. */
export interface PrincipalEndpointPorts {
  /** The record as the database has it now. */
  principal(username: string): Promise<InstancePrincipal>
  /** The catalogue as the database has it now. */
  catalogue(): Promise<InstanceCatalogue>
  /** The instance id of the database, which names the change feed. */
  instanceId(): Promise<string>
}

/** The endpoints about principals. */
export const principalEndpoints = ({
  principal,
  catalogue,
  instanceId,
}: PrincipalEndpointPorts): InternalEndpoint[] => [
  defineInternalEndpoint(principalExchange, async ({ path }) => {
    const { instanceId, record } = await principal(path.username)
    const headers = { [instanceHeader]: instanceId }
    if (!record) throw new ProblemError('not-found', 'There is no such user.', { headers })
    return { body: record, headers }
  }),
  defineInternalEndpoint(catalogueExchange, async () => {
    const { instanceId, catalogue: body } = await catalogue()
    return { body, headers: { [instanceHeader]: instanceId } }
  }),
  defineInternalEndpoint(feedExchange, async () => ({ body: { instanceId: await instanceId() } })),
]
