/** Questions to the person at the terminal. They go to standard error, because standard output is for results. */
import { isUtf8 } from 'node:buffer'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { withoutLineEnd } from './options.ts'
import { WrongUsage } from './report.ts'

/** The terminal of the person who runs the tool. */
export type Terminal = ReturnType<typeof createTerminal>

/** Ctrl-C or Ctrl-D instead of an answer. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** The streams of a terminal: standard input and standard error. */
export interface TerminalStreams {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

/** Creates the terminal. */
export function createTerminal({ input, output }: TerminalStreams) {
  const ask = async (question: string, hidden: boolean): Promise<string> => {
    // Line editing needs the terminal's raw mode. In this mode only the text that is written here appears.
    const echo = new Writable({
      write: (chunk, _encoding, done) => {
        if (!hidden) output.write(chunk)
        done()
      },
    })
    try {
      return await readLine(input, { echo, begun: () => output.write(question) })
    } finally {
      if (hidden) output.write('\n')
    }
  }
  return {
    /** False in a script or from cron, where no person can answer. */
    isInteractive: input.isTTY === true && output.isTTY === true,
    /** Asks for a line. @throws Interrupted */
    ask: (question: string) => ask(question, false),
    /** Asks for a line without showing it. @throws Interrupted */
    askHidden: (question: string) => ask(question, true),
    /** Reads all of standard input, without the line break at its end. @throws WrongUsage */
    readAll: async (): Promise<string> => {
      const chunks: Buffer[] = []
      for await (const chunk of input) chunks.push(Buffer.from(chunk))
      const bytes = Buffer.concat(chunks)
      // A password with U+FFFD in it is another one.
      if (!isUtf8(bytes)) throw new WrongUsage('Standard input is no text in UTF-8.')
      return withoutLineEnd(bytes.toString('utf8'))
    },
  }
}

interface LineOptions {
  readonly echo: Writable
  /** Called in raw mode: a password typed in answer to an earlier question would be echoed by the terminal. */
  readonly begun: () => unknown
}

function readLine(input: NodeJS.ReadableStream, { echo, begun }: LineOptions): Promise<string> {
  const reading = createInterface({ input, output: echo, terminal: true, historySize: 0, prompt: '' })
  begun()
  return new Promise<string>((resolve, reject) => {
    reading.once('line', resolve)
    reading.once('SIGINT', () => reading.close())
    reading.once('close', () => reject(new Interrupted('Interrupted.')))
  }).finally(() => reading.close())
}
