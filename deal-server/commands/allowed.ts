import { actsForItsUser } from '../../shared/protocol/authentication/own-account.ts'
import type { Deal } from '../domain/deal.ts'
import type { Asking, Command } from '../use-cases/define-use-case.ts'
import { commands } from '../use-cases/index.ts'

/** The commands that the deal's state allows now, whoever asks and with whatever parameters. */
export const possibleCommands = (deal: Deal): readonly Command[] =>
  commands.filter(
    ({ target, onDeleted, guard }) =>
      target === 'deal' && (deal.deletedAt === null || onDeleted) && guard(deal) === undefined,
  )

interface Blocked {
  readonly useCase: string
  readonly code: string
  readonly missingRight?: string
}

/** What this caller can do with the deal now, and for everything else, why not. */
export function allowedTo(asking: Asking, deal: Deal) {
  const { rights } = asking
  const onDeal = commands.filter(({ target }) => target === 'deal')
  const blocked = onDeal.flatMap(({ name, right, guard, allowedWithoutRight }): Blocked[] => {
    if (!rights.has(right) && !(actsForItsUser(asking) && allowedWithoutRight?.(deal, asking)))
      return [{ useCase: name, code: 'missing-right', missingRight: right }]
    const refusal = guard(deal)
    return refusal ? [{ useCase: name, code: refusal.code }] : []
  })
  const blockedNames = new Set(blocked.map(({ useCase }) => useCase))
  return { allowed: onDeal.map(({ name }) => name).filter((name) => !blockedNames.has(name)), blocked }
}
