/** The progress of long work: a bar with rate and time left on standard error, and nothing where it is no terminal. */

/** Called while work goes on: how much is done, out of how much. */
export type OnProgress = (done: number, total: number) => void

/** Runs `work` and shows its progress, in `unit` such as `entries`, until it settles. */
export async function withProgress<Result>(
  unit: string,
  work: (onProgress: OnProgress) => Promise<Result>,
  stream: NodeJS.WriteStream = process.stderr,
): Promise<Result> {
  if (!stream.isTTY) return work(() => undefined)
  const { SingleBar } = await import('cli-progress')
  const format = `{bar} {percentage} %, {value} of {total} ${unit}, {eta_formatted} left`
  const bar = new SingleBar({ format, stream, clearOnComplete: true, hideCursor: true, etaBuffer: 50 })
  let isShown = false
  try {
    return await work((done, total) => {
      if (!isShown) bar.start(total, 0)
      isShown = true
      bar.setTotal(total)
      bar.update(done)
    })
  } finally {
    if (isShown) bar.stop()
  }
}
