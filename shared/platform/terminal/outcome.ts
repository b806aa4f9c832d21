/** The output of the tool, and its exit code. */
import * as z from 'zod'
import { DatabaseError } from '../database/database.ts'
import { reasonOf } from '../database/prepare.ts'
import { isSystemError, OperatorError } from '../operator-error.ts'
import { ProblemError, Unavailable } from '../problems/errors.ts'
import { printableJson, printableLines } from './printable.ts'
import { OperationError, OperationFailed, type ReportAction, WrongUsage } from './report.ts'
import { Interrupted } from './terminal.ts'

/** Prints the results of commands, and holds the exit code. */
export interface Outcome {
  readonly report: ReportAction
  /** The exit code, after all output is written or its stream is closed. */
  exitCode(): Promise<number>
  /** Prints a result while the command runs: `json` with `--json`, else `text`. */
  print(json: unknown, text: string): void
  /** Prints a warning. The command goes on. */
  warn(text: string): void
  /**
   * A signal that the next Ctrl-C aborts with Interrupted. A second Ctrl-C ends the process. Output that cannot be
   * written aborts it too.
   */
  interrupted(): AbortSignal
}

/** The streams that the tool writes to. */
export interface OutcomeStreams {
  readonly output: NodeJS.WritableStream
  readonly errors: NodeJS.WritableStream
}

/** The exit code and the message of an error that only some programs know; undefined for every other one. */
export type Explain = (error: unknown) => readonly [code: number, message: string] | undefined

/** Errors that the person can correct. */
const refusals = [OperationError, OperatorError]

/** The exit codes of failures. */
export const exitCodes = { wrongUsage: 2, refused: 1, interrupted: 130 }

/** Creates the output of the tool. Results go to `output`, refusals and warnings to `errors`. */
export function createOutcome(
  { output, errors }: OutcomeStreams,
  asJson: () => boolean,
  explainOwn: Explain = () => undefined,
): Outcome {
  let code = 0
  let unwritten: NodeJS.ErrnoException | undefined
  output.on('error', (error) => {
    unwritten ??= error
    interruption?.end(outputLost)
  })
  errors.on('error', () => undefined)
  let interruption: ReturnType<typeof watchSignals> | undefined
  const report: ReportAction =
    (work) =>
    async (...parameters) => {
      try {
        const { json, text, exitCode = 0 } = await work(...parameters)
        if (text !== '') output.write(`${asJson() ? printableJson(json, 2) : text}\n`)
        code = exitCode
      } catch (error) {
        // `exitCode` tells of it.
        if (error === outputLost) return
        const [exitCode, message] = explainOwn(error) ?? explain(error)
        errors.write(`${printableLines(message)}\n`)
        code = exitCode
      } finally {
        interruption?.release()
      }
    }
  return {
    report,
    exitCode: async () => {
      await new Promise<void>((resolve) => output.write('', () => resolve()))
      // A reader that closes the pipe, such as `head`, needs no more output.
      if (unwritten === undefined || unwritten.code === 'EPIPE') return code
      errors.write(`Failed: the outcome cannot be written: ${unwritten.message}\n`)
      return code || exitCodes.refused
    },
    print: (json, text) => void output.write(`${asJson() ? printableJson(json) : text}\n`),
    warn: (text) => void errors.write(`${text}\n`),
    interrupted: () => {
      interruption ??= watchSignals()
      if (unwritten) interruption.end(outputLost)
      return interruption.signal
    },
  }
}

/** Ends a command whose output cannot be written. */
const outputLost = new Interrupted('The output cannot be written.')

function watchSignals() {
  const abort = new AbortController()
  const interrupt = () => abort.abort(new Interrupted('Interrupted.'))
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const name of names) process.once(name, interrupt)
  const release = () => {
    for (const name of names) process.off(name, interrupt)
  }
  return { signal: abort.signal, end: (reason: Interrupted) => abort.abort(reason), release }
}

/** Exit code and message. Other errors are faults of the tool: it throws them on, so that their stack shows. */
function explain(error: unknown): readonly [number, string] {
  if (error instanceof WrongUsage) return [exitCodes.wrongUsage, error.message]
  if (error instanceof Interrupted) return [exitCodes.interrupted, error.message]
  if (error instanceof OperationFailed) return [exitCodes.refused, `Failed: ${error.message}`]
  if (error instanceof Unavailable)
    return [exitCodes.refused, `Failed: the ${error.dependency} cannot be reached: ${reasonOf(error)}`]
  if (error instanceof DatabaseError) return [exitCodes.refused, `Failed: the database refuses: ${error.message}`]
  if (error instanceof ProblemError)
    return [exitCodes.refused, `Refused: ${error.message} (${error.code})${detailsOf(error)}`]
  if (refusals.some((refusal) => error instanceof refusal)) {
    return [exitCodes.refused, `Refused: ${(error as Error).message}`]
  }
  if (isSystemError(error))
    return [exitCodes.refused, `Failed: ${isFull(error) ? 'the disk is full: ' : ''}${error.message}`]
  throw error
}

const isFull = ({ code }: NodeJS.ErrnoException): boolean => code === 'ENOSPC' || code === 'EDQUOT'

const errorsSchema = z.array(z.object({ pointer: z.string(), message: z.string() }))

/** The values that were not accepted, a line each. */
const detailsOf = ({ members }: ProblemError): string =>
  (errorsSchema.safeParse(members.errors).data ?? [])
    .map(({ pointer, message }) => `\n  ${pointer}: ${message}`)
    .join('')
