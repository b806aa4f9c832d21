/** What the commands work with. */
import type { Readable } from 'node:stream'
import type { Keyhold } from '../../client/src/index.ts'
import type { Outcome, OutcomeStreams } from '../../shared/platform/terminal/outcome.ts'
import type { Terminal, TerminalStreams } from '../../shared/platform/terminal/terminal.ts'
import type { LoginFile } from '../login/login-file.ts'
import type { CallerConfig } from './config.ts'

/** The streams of the program: answers of the person, results, and everything else. */
export interface CallerStreams extends OutcomeStreams {
  readonly output: OutcomeStreams['output'] & { readonly isTTY?: boolean }
  readonly input: TerminalStreams['input'] & Pick<Readable, 'destroy'>
  readonly errors: TerminalStreams['output']
}

/** The services of all commands. A group takes those that it needs. */
export interface CallerPorts extends Outcome {
  readonly config: CallerConfig
  readonly terminal: Terminal
  readonly streams: CallerStreams
  /** The login of the profile. */
  readonly loginFile: () => LoginFile
  /** The client of the person who is logged in. @throws NoLogin */
  readonly connect: () => Promise<Keyhold>
  /** True with `--json`. */
  readonly isJson: () => boolean
}
