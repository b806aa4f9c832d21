/**
 * The context of callers whose calls are gathered into one piece of work, such as spans of traces. Nothing has a
 * context until `keepCallerContext` is called: a check of a variable is then all that it costs.
 */

/** Runs work in the context of the caller that it was captured from. */
export type InContext = <Result>(work: () => Result) => Result

let capture: (() => InContext | undefined) | undefined

/** From now on, gathered work runs in the context that `captured` gives for its first caller. For the whole process. */
export function keepCallerContext(captured: () => InContext | undefined): void {
  capture = captured
}

/** The context of the present caller; undefined when contexts are not kept. */
export const callerContext = (): InContext | undefined => capture?.()
