/** The rights that the use cases of a deal server need. Answered when the catalogue has all of them. */
import * as z from 'zod'
import { defineExchange } from './exchange.ts'

const rightSchema = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+(:own)?$/)
    .max(100),
  description: z.string().max(200),
  readsOnly: z.boolean(),
})

/** A right that a use case needs. */
export type DeclaredRight = Readonly<z.infer<typeof rightSchema>>

const isDistinct = (rights: readonly DeclaredRight[]): boolean =>
  new Set(rights.map(({ name }) => name)).size === rights.length

/** Adds the rights that the catalogue lacks. None is removed or changed. */
export const declaredRightsExchange = defineExchange({
  method: 'POST',
  path: '/declared-rights',
  requestBody: z.object({ rights: z.array(rightSchema).min(1).max(500).refine(isDistinct, 'Expected each name once') }),
})
