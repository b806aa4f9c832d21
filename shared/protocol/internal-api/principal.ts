/** A principal record as the database has it now. 404: there never was such a user. */
import { storedPrincipalSchema } from '../principal/record.ts'
import { defineExchange } from './exchange.ts'

/** Reads a principal record. `instanceHeader` of the answer, also of a 404, says of which instance it is true. */
export const principalExchange = defineExchange({
  method: 'GET',
  path: '/principals/:username',
  openTo: 'all',
  responseBody: storedPrincipalSchema,
})
