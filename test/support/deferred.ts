/** A promise that a test settles. */
export function deferred<Result>() {
  let resolve: (result: Result) => void = () => undefined
  let reject: (error: unknown) => void = () => undefined
  const promise = new Promise<Result>((...settle) => {
    ;[resolve, reject] = settle
  })
  return { promise, resolve, reject }
}
