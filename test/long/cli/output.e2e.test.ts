import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createOutcome } from '../../../shared/platform/terminal/outcome.ts'
import { compiled } from '../../support/processes/compiled.ts'

const root = join(import.meta.dirname, '../../..')

async function ops(parameters: readonly string[], output: 'closed' | '/dev/full') {
  const stdout = output === 'closed' ? 'pipe' : openSync(output, 'w')
  const command = [compiled('auth-server/cli/main.ts'), ...parameters]
  const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', stdout, 'pipe'] })
  child.stdout?.destroy()
  let errors = ''
  child.stderr?.on('data', (data) => (errors += data))
  const [code] = await once(child, 'close')
  return { code, errors }
}

describe("the operators' tool whose output nobody takes", () => {
  it.each([['--help'], ['secrets', 'generate']])(
    'ends quietly when the reader is gone, as with head: %j',
    async (...parameters) => {
      expect(await ops(parameters, 'closed')).toEqual({ code: 0, errors: '' })
    },
  )

  it.skipIf(!existsSync('/dev/full'))('says that the disk is full, and does not end with 0', async () => {
    const { code, errors } = await ops(['secrets', 'generate'], '/dev/full')
    expect(code).toBe(1)
    expect(errors).toMatch(/^Failed: the outcome cannot be written: ENOSPC: .*\n$/)
  })

  it.each([
    ['follows', 'EPIPE', { code: 0, errors: '' }],
    ['throws', 'EPIPE', { code: 0, errors: '' }],
    ['follows', 'ENOSPC', { code: 1, errors: 'Failed: the outcome cannot be written: write ENOSPC\n' }],
    ['throws', 'ENOSPC', { code: 1, errors: 'Failed: the outcome cannot be written: write ENOSPC\n' }],
  ])('ends what %s while it writes, after %s, other than after Ctrl-C', async (how, code, expected) => {
    const gone = Object.assign(new Error(`write ${code}`), { code })
    const output = new Writable({ write: (_chunk, _encoding, done) => done(gone) })
    const errors = new PassThrough()
    const outcome = createOutcome({ output, errors }, () => false)
    const run = outcome.report(async () => {
      const signal = outcome.interrupted()
      outcome.print({}, 'the first entry')
      await once(signal, 'abort')
      if (how === 'throws') signal.throwIfAborted()
      return { json: undefined, text: '' }
    })
    await run()
    expect({ code: await outcome.exitCode(), errors: String(errors.read() ?? '') }).toEqual(expected)
  })

  it('says that a file cannot be written, in a sentence', async () => {
    const errors = new PassThrough()
    const outcome = createOutcome({ output: new PassThrough(), errors }, () => false)
    await outcome.report(() =>
      Promise.reject(Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC', syscall: 'write' })),
    )()
    expect([await outcome.exitCode(), String(errors.read())]).toEqual([
      1,
      'Failed: the disk is full: ENOSPC: no space\n',
    ])
  })
})
