import type { Deal } from '../domain/deal.ts'
import type { Command, CommandCaller } from '../use-cases/define-use-case.ts'
import { commands } from '../use-cases/index.ts'

/** The commands that the deal's state allows now, for any caller and any parameters. */
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

/**
 * The commands that this caller can run on the deal now, those of them that would change nothing, and the other
 * commands with the reason why not.
 */
export function allowedTo(caller: CommandCaller, deal: Deal) {
  const onDeal = commands.filter(({ target }) => target === 'deal')
  const blocked = onDeal.flatMap(({ name, right, guard, mayRun }): Blocked[] => {
    if (!mayRun(deal, caller)) return [{ useCase: name, code: 'missing-right', missingRight: right }]
    const refusal = guard(deal)
    return refusal ? [{ useCase: name, code: refusal.code }] : []
  })
  const blockedNames = new Set(blocked.map(({ useCase }) => useCase))
  const allowed = onDeal.filter(({ name }) => !blockedNames.has(name))
  return {
    allowed: allowed.map(({ name }) => name),
    withoutEffect: allowed.filter(({ isWithoutEffect }) => isWithoutEffect?.(deal)).map(({ name }) => name),
    blocked,
  }
}
