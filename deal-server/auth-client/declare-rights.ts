/** Tells the auth server which rights the use cases need, so that a new one can be granted as soon as it is served. */
import { setTimeout as pause } from 'node:timers/promises'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { type DeclaredRight, declaredRightsExchange } from '../../shared/protocol/internal-api/declared-rights.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import type { AskingSystems } from './asking-systems.ts'

/** The pause between attempts, in milliseconds. */
const pauseMs = 5_000

/** Makes the declaration. No request waits for it: a right that nobody can have yet refuses. */
export function createRightsDeclaration(
  { authClient, log }: AskingSystems,
  rights: readonly DeclaredRight[],
  waitMs = pauseMs,
) {
  const stopping = new AbortController()
  const question = questionOf(declaredRightsExchange, { path: {}, body: { rights: [...rights] } })
  let refused: unknown
  let declaring: Promise<void> | undefined

  const isTaken = async (): Promise<boolean> => {
    try {
      const { status, body } = await authClient.ask(question)
      if (status === 204) return true
      if (status !== refused)
        log.warn({ status, problem: body }, 'The auth server does not take the rights of use cases')
      refused = status
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
    return false
  }
  const declare = async (): Promise<void> => {
    while (!stopping.signal.aborted && !(await isTaken()))
      await pause(waitMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
  }
  return {
    /** Declares them in the background, until the auth server has taken them. */
    start: (): void => {
      declaring ??= declare().catch((err: unknown) => log.error({ err }, 'The declaration of rights failed'))
    },
    stop: async () => {
      stopping.abort()
      await declaring
    },
  }
}
