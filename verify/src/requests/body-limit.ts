import { ProblemError } from '../../../shared/platform/problems/errors.ts'

/** The refusal of a body that is too large to be compared with a digest. */
export const bodyTooLarge = (maxBytes: number) =>
  new ProblemError('body-too-large', `A body that is signed may have at most ${maxBytes} bytes.`)

/** The refusal of a body whose client goes away. */
export const bodyBrokenOff = () => new ProblemError('malformed-request', 'The connection ended before the body did.')

/** Collects the pieces of a body. @throws ProblemError `body-too-large` */
export function createBodyCollector(maxBytes: number) {
  const pieces: Uint8Array[] = []
  let size = 0
  return {
    add: (piece: Uint8Array): void => {
      size += piece.length
      if (size > maxBytes) throw bodyTooLarge(maxBytes)
      pieces.push(piece)
    },
    body: (): Buffer => Buffer.concat(pieces),
  }
}
