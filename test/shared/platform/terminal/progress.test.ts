import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { type OnProgress, withProgress } from '../../../../shared/platform/terminal/progress.ts'

/** A stream as a terminal, or as a pipe, and what was written to it. */
function openStream(isTTY: boolean) {
  const chunks: string[] = []
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 100, cursorTo: () => true, clearLine: () => true })
  stream.on('data', (chunk) => chunks.push(String(chunk)))
  return { stream: stream as never, written: () => chunks.join('') }
}

const work = async (onProgress: OnProgress) => {
  onProgress(10, 40)
  onProgress(40, 40)
  return 'the result'
}

describe('the progress of long work', () => {
  it('is a bar on a terminal', async () => {
    const { stream, written } = openStream(true)
    expect(await withProgress('entries', work, stream)).toBe('the result')
    expect(written()).toMatch(/of 40 entries/)
  })

  it('is nothing elsewhere', async () => {
    const { stream, written } = openStream(false)
    expect(await withProgress('entries', work, stream)).toBe('the result')
    expect(written()).toBe('')
  })

  it('ends with the error of the work', async () => {
    const { stream } = openStream(true)
    const failing = withProgress(
      'entries',
      async (onProgress) => {
        onProgress(1, 2)
        throw new Error('the disk is full')
      },
      stream,
    )
    await expect(failing).rejects.toThrow('the disk is full')
  })
})
