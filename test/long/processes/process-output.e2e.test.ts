import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compiled } from '../../support/processes/compiled.ts'

const root = join(import.meta.dirname, '../../..')

/**
 * Begins as a server does, logs and prints for a while, says on standard error that it is there still, and ends as a
 * server does.
 */
const program = (format: string) => `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { createLog } from '${compiled('shared/platform/log/log.ts')}'
  import { beginServer } from '${compiled('shared/platform/process/process.ts')}'
  beginServer()
  const log = createLog({ level: 'info', format: '${format}' })
  for (let line = 0; line < 10; line += 1) {
    log.info('a line')
    process.stdout.write('a line\\n')
    await sleep(20)
  }
  process.stderr.write('still there')
  log.info('the last line')
  process.exit(0)`

async function run(format: string, output: 'closed' | 'read' | '/dev/full') {
  const stdout = output === '/dev/full' ? openSync(output, 'w') : 'pipe'
  const parameters = ['--input-type=module', '--eval', program(format)]
  const child = spawn(process.execPath, parameters, { cwd: root, stdio: ['ignore', stdout, 'pipe'] })
  if (output === 'closed') child.stdout?.destroy()
  let lines = ''
  child.stdout?.on('data', (data) => (lines += data))
  let errors = ''
  child.stderr?.on('data', (data) => (errors += data))
  const [code] = await once(child, 'close')
  return { code, errors, lines }
}

describe.each(['json', 'pretty'])('a server whose output nobody takes any more, its log %s', (format) => {
  it('goes on when the reader of its log is gone', async () => {
    expect(await run(format, 'closed')).toMatchObject({ code: 0, errors: 'still there' })
  })

  it.skipIf(!existsSync('/dev/full'))('goes on when the disk of its log is full', async () => {
    expect(await run(format, '/dev/full')).toMatchObject({ code: 0, errors: 'still there' })
  })

  it('writes every line, the last one too', async () => {
    const { lines } = await run(format, 'read')
    expect(lines.match(/a line/g)?.length).toBe(20)
    expect(lines).toContain('the last line')
  })
})
