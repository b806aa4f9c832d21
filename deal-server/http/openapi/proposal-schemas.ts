/** The schemas of proposals. */
import * as z from 'zod'
import { proposalStates } from '../../domain/proposals.ts'
import { dealSchema } from './response-schemas.ts'

const time = z.string().meta({ format: 'date-time', description: 'RFC 3339.' })
const uuid = z.string().meta({ format: 'uuid' })
const user = z.string().meta({ description: 'A user name.' })

/** A command that waits. */
export const proposedSchema = z.object({
  proposal: z.object({ id: uuid, state: z.enum(proposalStates), expiresAt: time }),
})

/** A proposal. */
export const proposalSchema = z.object({
  id: uuid,
  state: z.enum(proposalStates),
  useCase: z.string(),
  deal: uuid.nullable().meta({ description: 'Null for a new deal whose id the server chooses, until it is approved.' }),
  params: z.record(z.string(), z.unknown()),
  commandId: z.string().meta({ description: 'The id of the command, when it has run.' }),
  proposedBy: user,
  client: z.object({ id: z.string(), name: z.string() }).meta({ description: 'The application that proposed it.' }),
  proposedAt: time,
  expiresAt: time,
  dealVersion: z.number().int().nullable().meta({ description: 'The version of the deal that it was made on.' }),
  currentVersion: z.number().int().nullable().meta({ description: 'The version that the deal has now.' }),
  hasChanged: z.boolean().meta({ description: 'The deal has changed since: an approval needs `If-Match`.' }),
  decision: z
    .object({ by: user, at: time, reason: z.string().nullable() })
    .nullable()
    .meta({ description: 'Who approved or rejected it; null while nobody did.' }),
  links: z.object({ self: z.string(), deal: z.string().nullable() }),
})

/** A proposal that was approved, or would be. */
export const approvedProposalSchema = proposalSchema.extend({
  result: dealSchema
    .nullable()
    .meta({ description: 'The deal after the command; null when it is deleted or was decided before.' }),
})
