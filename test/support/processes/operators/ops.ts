/** The operators' tool under test: in this process, or as one of its own. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { runCli } from '../../../../auth-server/cli/program.ts'
import { readOperatorConfig } from '../../../../auth-server/config.ts'
import { compiled } from '../compiled.ts'

/** What came of a command. */
export interface CliOutcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command. */
export type Ops = (parameters: readonly string[]) => Promise<CliOutcome>

/** In this process, with this environment. */
export const opsWith =
  (environment: Readonly<Record<string, string>>): Ops =>
  async (parameters) => {
    const [output, errors] = [collector(), collector()]
    const streams = { output: output.stream, errors: errors.stream }
    const code = await runCli(parameters, readOperatorConfig(environment), streams)
    return { code, out: output.text(), err: errors.text() }
  }

function collector() {
  const stream = new PassThrough()
  let text = ''
  stream.on('data', (chunk) => (text += chunk))
  return { stream, text: () => text + (stream.read() ?? '') }
}

const root = join(import.meta.dirname, '../../../..')

/** As a process. */
export const opsProcess =
  (environment: Readonly<Record<string, string>>): Ops =>
  (parameters) =>
    new Promise((resolve) => {
      const env = { PATH: process.env.PATH, ...environment }
      const command = [compiled('auth-server/cli/main.ts'), ...parameters]
      execFile(process.execPath, command, { cwd: root, env }, (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err })
      })
    })
