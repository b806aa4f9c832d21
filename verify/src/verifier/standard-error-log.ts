import type { VerifierLog } from './verifier.ts'

/** A log that writes warnings and errors to standard error, a line each. */
export function createStandardErrorLog(): VerifierLog {
  const write = (details: object, message: string): void => {
    const cause = 'err' in details && details.err instanceof Error ? `: ${sentenceOf(details.err)}` : ''
    process.stderr.write(`keyhold-verify: ${message}${cause}\n`)
  }
  return { debug: () => undefined, info: () => undefined, warn: write, error: write }
}

/** What an error says, and the errors behind it. */
const sentenceOf = ({ message, cause }: Error): string =>
  cause instanceof Error ? `${message} (${sentenceOf(cause)})` : message
