/** Principal records, the catalogue of rights and roles, and the instance id of their feed. */

import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { catalogueExchange } from '../../../shared/protocol/internal-api/catalogue.ts'
import { feedExchange } from '../../../shared/protocol/internal-api/feed.ts'
import { principalExchange } from '../../../shared/protocol/internal-api/principal.ts'
import { instanceHeader } from '../../../shared/protocol/internal-api/responses.ts'
import { narrowCatalogue, narrowRecord } from '../../services/narrow.ts'
import { defineInternalEndpoint, type InternalEndpoint } from './endpoint.ts'
import type { InternalServices } from './internal-services.ts'

/** The endpoints about principals. */
export const principalEndpoints = ({
  principal,
  catalogue,
  instanceId,
  sightOf,
}: InternalServices): InternalEndpoint[] => [
  defineInternalEndpoint(principalExchange, async ({ path, client: { proven } }) => {
    const { instanceId, record } = await principal(path.username)
    const headers = { [instanceHeader]: instanceId }
    if (!record) throw new ProblemError('not-found', 'There is no such user.', { headers })
    if (!proven) return { body: record, headers }
    // Read after the record: it knows every role and right that the record names.
    return { body: narrowRecord(record, await sightOf(proven.service.resourceServer.id)), headers }
  }),
  defineInternalEndpoint(catalogueExchange, async ({ client: { proven } }) => {
    const { instanceId, catalogue: whole } = await catalogue()
    const body = proven ? narrowCatalogue(whole, proven.service.resourceServer.id) : whole
    return { body, headers: { [instanceHeader]: instanceId } }
  }),
  defineInternalEndpoint(feedExchange, async () => ({ body: { instanceId: await instanceId() } })),
]
