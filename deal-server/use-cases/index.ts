/** The table of contents: every use case of the deal server, one line each. */
import { createDeal } from './create-deal.ts'
import type { Command } from './define-use-case.ts'
import { deleteDeal } from './delete-deal.ts'
import { holdDeal } from './hold-deal.ts'
import { unholdDeal } from './unhold-deal.ts'

export const commands: readonly Command[] = [
  createDeal, //
  deleteDeal,
  holdDeal,
  unholdDeal,
]
