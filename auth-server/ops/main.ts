/**
 * The operators' tool: `npm run ops -- <group> <command>`. Exit codes: 0 done, 1 refused with the reason, 2 wrong usage or settings.
 * `--json` prints one JSON value for scripts.
 */
import { Command } from 'commander'
import { systemClock } from '../../shared/clock.ts'
import { DataFolderLocked } from '../../shared/database/data-lock.ts'
import { requireSettings } from '../../shared/process.ts'
import { readOperatorConfig } from '../config.ts'
import { KeyRingError } from '../key-ring/keyring-file.ts'
import { StepRefused } from '../key-ring/life-cycle.ts'
import { addKeyCommands } from './keys.ts'
import { OperationRefused, type Report } from './report.ts'

const { config, problems } = readOperatorConfig()
requireSettings(problems)

const program = new Command('ops')
  .description(
    'Keyhold for operators. The settings are those of the servers: run it where they run, with their environment.',
  )
  .option('--json', 'print one JSON value')
  .showHelpAfterError()
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))

/** Refusals that an operator can do something about; anything else is our own fault and shows its stack. */
const refusals = [OperationRefused, StepRefused, KeyRingError, DataFolderLocked]

const report =
  <Parameters extends unknown[]>(work: (...parameters: Parameters) => Promise<Report>) =>
  async (...parameters: Parameters): Promise<void> => {
    try {
      const { json, text, exitCode = 0 } = await work(...parameters)
      process.stdout.write(`${program.opts().json ? JSON.stringify(json, null, 2) : text}\n`)
      process.exitCode = exitCode
    } catch (error) {
      if (!refusals.some((refusal) => error instanceof refusal)) throw error
      process.stderr.write(`Refused: ${(error as Error).message}\n`)
      process.exitCode = 1
    }
  }

addKeyCommands(program, {
  operation: { ...config.keyRing, clock: systemClock },
  authUrl: config.authUrl,
  fetch: globalThis.fetch,
  report,
})

await program.parseAsync()
