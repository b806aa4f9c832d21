/** How the tool ends: what it prints, and with which exit code. */
import { z } from 'zod'
import { DatabaseError } from '../../../shared/platform/database/database.ts'
import { reasonOf } from '../../../shared/platform/database/prepare.ts'
import { OperatorError } from '../../../shared/platform/operator-error.ts'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'
import { StepError } from '../../key-ring/life-cycle.ts'
import { OperationError, OperationFailed, type ReportAction, WrongUsage } from './report.ts'
import { Interrupted } from './terminal.ts'

export interface Outcome {
  readonly report: ReportAction
  /** When all that was printed is written, or cannot be. */
  exitCode(): Promise<number>
  /** Prints what comes while the command runs. */
  print(json: unknown, text: string): void
  /** Says that something went wrong and the command goes on. */
  warn(text: string): void
  /** Aborted with Interrupted by the first Ctrl-C from now on, a second one ends the process; and when nobody reads what is printed. */
  interrupted(): AbortSignal
}

export interface OutcomeStreams {
  readonly output: NodeJS.WritableStream
  readonly errors: NodeJS.WritableStream
}

/** Refusals that an operator can do something about. */
const refusals = [OperationError, StepError, OperatorError]

/** The exit codes beside 0. */
export const exitCodes = { wrongUsage: 2, refused: 1, interrupted: 130 }

/** Outcomes go to `output`, refusals and warnings to `errors`. */
export function createOutcome({ output, errors }: OutcomeStreams, asJson: () => boolean): Outcome {
  let code = 0
  let unwritten: NodeJS.ErrnoException | undefined
  output.on('error', (error) => {
    unwritten ??= error
    interruption?.end()
  })
  errors.on('error', () => undefined)
  let interruption: ReturnType<typeof watchSignals> | undefined
  const report: ReportAction =
    (work) =>
    async (...parameters) => {
      try {
        const { json, text, exitCode = 0 } = await work(...parameters)
        if (text !== '') output.write(`${asJson() ? JSON.stringify(json, null, 2) : text}\n`)
        code = exitCode
      } catch (error) {
        const [exitCode, message] = explain(error)
        errors.write(`${message}\n`)
        code = exitCode
      } finally {
        interruption?.release()
      }
    }
  return {
    report,
    exitCode: async () => {
      await new Promise<void>((resolve) => output.write('', () => resolve()))
      // Who closes the pipe, as `head` does, has seen enough.
      if (unwritten === undefined || unwritten.code === 'EPIPE') return code
      errors.write(`Failed: the outcome cannot be written: ${unwritten.message}\n`)
      return code || exitCodes.refused
    },
    print: (json, text) => void output.write(`${asJson() ? JSON.stringify(json) : text}\n`),
    warn: (text) => void errors.write(`${text}\n`),
    interrupted: () => {
      interruption ??= watchSignals()
      if (unwritten) interruption.end()
      return interruption.signal
    },
  }
}

function watchSignals() {
  const abort = new AbortController()
  const interrupt = () => abort.abort(new Interrupted('Interrupted.'))
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const name of names) process.once(name, interrupt)
  const release = () => {
    for (const name of names) process.off(name, interrupt)
  }
  return { signal: abort.signal, end: interrupt, release }
}

/** Exit code and sentence. What is our own fault is thrown on and shows its stack. */
function explain(error: unknown): readonly [number, string] {
  if (error instanceof WrongUsage) return [exitCodes.wrongUsage, error.message]
  if (error instanceof Interrupted) return [exitCodes.interrupted, error.message]
  if (error instanceof OperationFailed) return [exitCodes.refused, `Failed: ${error.message}`]
  if (error instanceof Unavailable)
    return [exitCodes.refused, `Failed: the ${error.dependency} cannot be reached: ${reasonOf(error)}`]
  if (error instanceof DatabaseError) return [exitCodes.refused, `Failed: the database refuses: ${error.message}`]
  if (error instanceof ProblemError)
    return [exitCodes.refused, `ProblemError: ${error.message} (${error.code})${detailsOf(error)}`]
  if (refusals.some((refusal) => error instanceof refusal)) {
    return [exitCodes.refused, `ProblemError: ${(error as Error).message}`]
  }
  throw error
}

const errorsSchema = z.array(z.object({ pointer: z.string(), message: z.string() }))

/** Which values could not be accepted. */
const detailsOf = ({ members }: ProblemError): string =>
  (errorsSchema.safeParse(members.errors).data ?? [])
    .map(({ pointer, message }) => `\n  ${pointer}: ${message}`)
    .join('')
