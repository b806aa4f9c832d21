/** Reads the lines of a text file while it comes. */
import { OperatorError } from '../operator-error.ts'
import { createTextDecoder } from './text-decoder.ts'

/** A file that cannot be read to its end. */
export class UnreadableFile extends OperatorError {}

/** The text of a file, piece by piece. @throws NoText */
export async function* textsOf(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decode = createTextDecoder()
  for await (const piece of input) {
    const text = decode(Buffer.from(piece as Uint8Array))
    if (text !== '') yield text
  }
  yield decode()
}

/** The lines of a text, without their line feeds. @throws UnreadableFile for a line of more characters */
export async function* linesOf(texts: AsyncIterable<string>, maxLength: number): AsyncGenerator<string> {
  let rest = ''
  for await (const text of texts) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (rest.length > maxLength) throw new UnreadableFile(`A line has more than ${maxLength} characters.`)
  }
  yield rest
}
