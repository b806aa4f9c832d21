/** The entries of what the first start of an auth server makes, before there is a user who could do it. */
import { type Audit, operatorScheme } from './audit.ts'

/** The reason of these entries, and of those of the key ring. */
export const firstStart = 'first start'

/** Runs what makes the first users. `operator` is the user of the operating system; undefined when it has no name. */
export const duringFirstStart = <Result>(
  audit: Audit,
  operator: string | undefined,
  run: () => Promise<Result>,
): Promise<Result> => {
  const nowhere = { address: null, requestId: null }
  return audit.during(
    { ...nowhere, actor: operator ?? null, scheme: operatorScheme, reason: firstStart },
    undefined,
    run,
  )
}
