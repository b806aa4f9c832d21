/** The catalogue of rights and roles as the database has it now. */
import { catalogueSchema } from '../principal/catalogue.ts'
import { defineExchange } from './exchange.ts'

/** Reads the catalogue. The header field `instanceHeader` of the answer says of which instance it is true. */
export const catalogueExchange = defineExchange({
  method: 'GET',
  path: '/catalogue',
  openTo: 'all',
  responseBody: catalogueSchema,
})
