/**
 * GET /internal/principals/{username} and GET /internal/feed: what principal records and their feed are followed by.
 */

import { Refused } from '../../../shared/platform/problems/errors.ts'
import { feedExchange } from '../../../shared/protocol/internal-api/feed.ts'
import { principalExchange } from '../../../shared/protocol/internal-api/principal.ts'
import { installationHeader } from '../../../shared/protocol/internal-api/responses.ts'
import type { InstalledPrincipal } from '../../../shared/protocol/principal/record.ts'
import { answering, type InternalEndpoint } from './endpoint.ts'

/** What the endpoints need. */
export interface PrincipalEndpointPorts {
  /** The record as the database has it now. */
  principal(username: string): Promise<InstalledPrincipal>
  /** Which installation the database is: whose feed there is to follow. */
  installationId(): Promise<string>
}

/** The endpoints about principals. */
export const principalEndpoints = ({ principal, installationId }: PrincipalEndpointPorts): InternalEndpoint[] => [
  answering(principalExchange, async ({ path }) => {
    const { installationId, record } = await principal(path.username)
    const headers = { [installationHeader]: installationId }
    if (!record) throw new Refused('not-found', 'There is no such user.', { headers })
    return { body: record, headers }
  }),
  answering(feedExchange, async () => ({ body: { installationId: await installationId() } })),
]
