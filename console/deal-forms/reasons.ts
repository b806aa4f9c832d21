/** Why a caller cannot run a command on a deal now, in words. */
import { dealProblems } from '../../shared/protocol/problems/deal-server.ts'
import { refusals } from '../texts/deal.ts'
import type { DealView } from './deal-view.ts'

/** Use-case name → the reason, for the commands that are not possible or would change nothing. */
export function reasonsOf(deal: DealView): ReadonlyMap<string, string> {
  const blocked = new Map((deal.blocked ?? []).map((one) => [one.useCase, wordsOf(one)]))
  for (const name of deal.withoutEffect ?? []) blocked.set(name, 'It would change nothing now.')
  return blocked
}

function wordsOf({ code, missingRight }: NonNullable<DealView['blocked']>[number]): string {
  if (missingRight !== undefined) return `You need the right ${missingRight}.`
  const entries: Readonly<Record<string, { readonly meaning: string } | undefined>> = dealProblems
  return refusals[code] ?? entries[code]?.meaning ?? 'This is not possible now.'
}
