/**
 * The operators' tool with all its commands. Exit codes: 0 done, 1 refused or failed with the reason, 2 wrong usage or
 * settings, 130 Ctrl-C. `--json` prints one JSON value for scripts.
 */
import { Command, CommanderError } from 'commander'
import { systemClock } from '../../shared/platform/clock.ts'
import { createIdSource } from '../../shared/platform/ids.ts'
import { InvalidSettings } from '../../shared/platform/settings/settings.ts'
import type { readOperatorConfig } from '../config.ts'
import { createPasswordHashing } from '../passwords/password-hashing.ts'
import { addApiKeyCommands } from './commands/api-keys.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addKeyCommands } from './commands/keys.ts'
import { addRecovery } from './commands/recovery.ts'
import { addSecretCommands } from './commands/secrets.ts'
import { addSessionCommands } from './commands/sessions.ts'
import { addUserCommands } from './commands/users.ts'
import { createWithAdmin } from './http/admin-client.ts'
import { createHttpClient } from './http/http-client.ts'
import { createOpenAuthData } from './offline/auth-data.ts'
import { withText } from './terminal/help.ts'
import { createOutcome, exitCodes, type Outcome } from './terminal/outcome.ts'
import { createTerminal, type TerminalStreams } from './terminal/terminal.ts'

type Configuration = ReturnType<typeof readOperatorConfig>

/** The streams of the tool: answers of the person, results, and everything else. */
export interface CliStreams {
  readonly input: TerminalStreams['input']
  readonly output: NodeJS.WritableStream
  readonly errors: TerminalStreams['output']
}

/** Runs one command and resolves to the exit code. */
export async function runCli(
  parameters: readonly string[],
  { config, problems }: Configuration,
  streams: CliStreams,
): Promise<number> {
  if (problems.length > 0) {
    streams.errors.write(`${new InvalidSettings(problems).message}\n`)
    return exitCodes.wrongUsage
  }
  const { program, outcome } = createProgram(config, streams)
  try {
    await program.parseAsync(keyIdsLast(parameters), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode !== 0) return exitCodes.wrongUsage
  }
  return outcome.exitCode()
}

/** Creates the tool with all its commands. */
export function createProgram(config: Configuration['config'], streams: CliStreams) {
  const program = new Command('ops')
    .description(
      'Keyhold for operators. The settings are those of the servers: run it where they run, with their environment.',
    )
    .option('--json', 'print one JSON value')
    .showHelpAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void streams.output.write(text),
      writeErr: (text) => void streams.errors.write(text),
    })
  withText(
    program,
    'Commands that work over HTTP log in as KEYHOLD_ADMIN_USER with KEYHOLD_ADMIN_PASSWORD, or ask for them at the\n' +
      'terminal, and log out in the end. They call AUTH_URL, or else AUTH_PUBLIC_ORIGIN. NODE_EXTRA_CA_CERTS names\n' +
      'the PEM file of a private certificate authority.',
    'Exit codes: 0 done, 1 refused or failed, with the reason, 2 wrong usage or settings.',
  )
  const outcome = createOutcome(streams, () => program.opts().json === true)
  addGroups(program, config, { streams, outcome })
  return { program, outcome }
}

/** Moves ids of keys to the end, behind `--`. One id in 64 begins with a hyphen and would be read as an option. */
function keyIdsLast(parameters: readonly string[]): readonly string[] {
  const isHyphenated = (parameter: string) => /^-[A-Za-z0-9_-]{42}$/.test(parameter)
  const ids = parameters.filter(isHyphenated)
  if (ids.length === 0 || parameters.includes('--')) return parameters
  return [...parameters.filter((parameter) => !isHyphenated(parameter)), '--', ...ids]
}

function addGroups(
  program: Command,
  config: Configuration['config'],
  { streams, outcome }: { streams: CliStreams; outcome: Outcome },
): void {
  const { authUrl, admin } = config
  const { report } = outcome
  const { fetch } = globalThis
  const clock = systemClock
  const ids = createIdSource(clock)
  const terminal = createTerminal({ input: streams.input, output: streams.errors })
  const withAdmin = createWithAdmin({ ...outcome, send: createHttpClient({ authUrl, fetch }), admin, terminal })
  const openAuthData = createOpenAuthData(config)
  const hash = (password: string) => createPasswordHashing({ concurrency: 1 }).hash(password)
  addKeyCommands(program, { operation: { ...config.keyRing, clock }, authUrl, fetch, report })
  const users = addUserCommands(program, { withAdmin, terminal, ids, report })
  addRecovery(users, { openAuthData, clock, ids, hashing: { hash }, report })
  addApiKeyCommands(program, { withAdmin, clock, report })
  addSessionCommands(program, { withAdmin, report })
  addAuditCommands(program, { ...outcome, withAdmin, openAuthData })
  addSecretCommands(program, { openAuthData, ids, clock, report })
}
