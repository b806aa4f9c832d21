/** Which installation the auth server belongs to: whose feed and cache a deal server follows. */
import { z } from 'zod'
import { installationIdSchema } from '../principal/instance-id.ts'
import { defineExchange } from './exchange.ts'

/** Reads the id of the installation. */
export const feedExchange = defineExchange({
  method: 'GET',
  path: '/feed',
  question: undefined,
  answer: z.object({ installationId: installationIdSchema }),
})
