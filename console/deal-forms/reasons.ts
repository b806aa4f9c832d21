/** Why a caller cannot run a command on a deal now, in words. */
import { dealProblems } from '../../shared/protocol/problems/deal-server.ts'
import { refusals, dealTexts as texts } from '../texts/deal.ts'
import type { DealView } from './deal-view.ts'

/** Use-case name → the reason, for the commands that are not possible or would change nothing. */
export function reasonsOf(deal: DealView): ReadonlyMap<string, string> {
  const blocked = new Map((deal.blocked ?? []).map((one) => [one.useCase, wordsOf(one)]))
  for (const name of deal.withoutEffect ?? []) blocked.set(name, texts.withoutEffect)
  return blocked
}

function wordsOf({ code, missingRight }: NonNullable<DealView['blocked']>[number]): string {
  if (missingRight !== undefined) return texts.missingRight(missingRight)
  const entries: Readonly<Record<string, { readonly meaning: string } | undefined>> = dealProblems
  return refusals[code] ?? entries[code]?.meaning ?? texts.notNow
}
