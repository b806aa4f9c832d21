import { setTimeout as pause } from 'node:timers/promises'
import { widthOf } from '../domain/own-deals.ts'
import { type CommandCaller, readingRight } from '../use-cases/define-use-case.ts'

/** Milliseconds; longer than it takes to read a deal. */
const refusalMs = 10

/**
 * Answers a caller. The refusal to one who does not read all deals comes at a fixed time after the begin: so the time
 * does not say whether there is such a deal.
 */
export async function refuseInTime<Answer>(
  { rights }: Pick<CommandCaller, 'rights'>,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  if (widthOf(rights, readingRight) === 'all') return answer()
  const due = pause(refusalMs)
  try {
    return await answer()
  } catch (error) {
    await due
    throw error
  }
}
