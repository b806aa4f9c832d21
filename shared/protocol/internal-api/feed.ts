/** Which instance the auth server belongs to: whose feed and cache a deal server follows. */
import * as z from 'zod'
import { instanceIdSchema } from '../principal/instance-id.ts'
import { defineExchange } from './exchange.ts'

/** Reads the id of the instance of the auth server. */
export const feedExchange = defineExchange({
  method: 'GET',
  path: '/feed',
  openTo: 'all',
  responseBody: z.object({ instanceId: instanceIdSchema }),
})
