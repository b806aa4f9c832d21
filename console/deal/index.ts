/** The pages of one deal: the deal itself, the forms of all commands, and the form for a new deal. */
import type { IdSource } from '../../shared/platform/ids.ts'
import { commandPage } from '../deal-forms/command-page.tsx'
import { newDealPage } from '../deal-forms/new-deal-page.tsx'
import type { DealPage } from '../frame/deal-api.ts'
import { dealPage } from './deal-page.tsx'

/** All pages of one deal. */
export const dealPages = (ids: IdSource): readonly DealPage[] => [newDealPage(ids), commandPage(ids), dealPage(ids)]
