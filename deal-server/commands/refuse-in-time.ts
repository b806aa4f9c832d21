import { setTimeout as pause } from 'node:timers/promises'
import { sightOf, type Viewer } from '../domain/sight.ts'

/** Milliseconds; longer than it takes to read a deal. */
const refusalMs = 10

/**
 * Answers a caller. The refusal to one who does not read all deals comes at a fixed time after the begin: so the time
 * does not say whether there is such a deal.
 */
export async function refuseInTime<Answer>(viewer: Viewer, answer: () => Promise<Answer>): Promise<Answer> {
  if (sightOf(viewer).deals === 'all') return answer()
  const due = pause(refusalMs)
  try {
    return await answer()
  } catch (error) {
    await due
    throw error
  }
}
