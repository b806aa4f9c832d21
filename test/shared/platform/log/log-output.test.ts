import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { createOutput } from '../../../../shared/platform/log/log-output.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-log-'))
const file = join(folder, 'log')
const written = () => readFileSync(file, 'utf8')

/** Waits in turns of the event loop: timers stand still. */
async function reads(text: string, eachTurn: () => void = () => undefined): Promise<void> {
  for (let turns = 0; written() !== text && turns < 10_000; turns += 1) {
    eachTurn()
    await turn()
  }
  expect(written()).toBe(text)
}

afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

it('writes the lines of ten milliseconds together and in order, also those that come during a write', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const output = createOutput(openSync(file, 'w'))
  output.write('1\n')
  await turn()
  output.write('2\n')
  vi.advanceTimersByTime(9)
  await turn()
  expect(written()).toBe('')
  vi.advanceTimersByTime(1)
  output.write('3\n')
  await reads('1\n2\n')
  await reads('1\n2\n3\n', () => vi.advanceTimersByTime(10))
})
