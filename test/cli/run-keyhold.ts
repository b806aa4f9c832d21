/** `npx keyhold` in this process. */
import { Readable, Writable } from 'node:stream'
import { readCallerConfig } from '../../cli/context/config.ts'
import { runKeyhold } from '../../cli/program.ts'

/** What came of a command. */
export interface Ran {
  readonly code: number
  readonly output: string
  readonly errors: string
}

/** Runs a command with this environment; its words as a list, or with blanks between. */
export async function runKeyholdWith(
  environment: Readonly<Record<string, string>>,
  line: string | readonly string[],
  { input = '', isTerminal = false, onErrors = (_text: string): void => undefined } = {},
): Promise<Ran> {
  const texts = { output: '', errors: '' }
  const writer = (name: 'output' | 'errors') =>
    new Writable({
      write: (chunk, _encoding, done) => {
        texts[name] += chunk
        if (name === 'errors') onErrors(texts.errors)
        done()
      },
    })
  const output = Object.assign(writer('output'), { isTTY: isTerminal })
  const streams = { input: Readable.from([Buffer.from(input)]), output, errors: writer('errors') }
  const words = typeof line === 'string' ? line.split(' ') : line
  const code = await runKeyhold(words, readCallerConfig(environment), streams)
  return { code, ...texts }
}
