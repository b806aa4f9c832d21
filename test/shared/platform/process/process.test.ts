import { afterEach, describe, expect, it, vi } from 'vitest'
import { closeOnSignal } from '../../../../shared/platform/process/process.ts'

afterEach(() => vi.restoreAllMocks())

/** A server that is closing for ever, and how signals reach it. */
function open() {
  let now = 0
  const handlers = new Map<string | symbol, (signal: string) => void>()
  vi.spyOn(process, 'on').mockImplementation((name, handle) => {
    handlers.set(name, handle)
    return process
  })
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
  const close = vi.fn(() => new Promise<void>(() => undefined))
  const log = { info: () => undefined, error: () => undefined } as unknown as Parameters<typeof closeOnSignal>[0]
  closeOnSignal(log, close, { now: () => now, monotonic: () => now })
  const send = (signal: string, afterMs: number) => {
    now += afterMs
    handlers.get(signal)?.(signal)
  }
  return { send, close, exit }
}

describe('a server that gets a signal to end', () => {
  it('treats the signals of the terminal and of npm shortly after as one', () => {
    const { send, close, exit } = open()
    send('SIGINT', 1_000)
    for (const afterMs of [0, 3, 100]) send('SIGINT', afterMs)
    expect(close).toHaveBeenCalledOnce()
    expect(exit).not.toHaveBeenCalled()
  })

  it.each(['SIGINT', 'SIGTERM'])('does not wait when it is told again: %s', (again) => {
    const { send, close, exit } = open()
    send('SIGINT', 1_000)
    send(again, 600)
    expect(close).toHaveBeenCalledOnce()
    expect(exit).toHaveBeenCalledWith(1)
  })
})
