/**
 * The operators' tool with all its commands. Exit codes: 0 done, 1 refused or failed with the reason, 2 wrong usage or
 * settings, 130 Ctrl-C. `--json` prints one JSON value for scripts.
 */
import { Command, CommanderError } from 'commander'
import { projectVersion } from '../../shared/platform/project-folder.ts'
import { InvalidSettings } from '../../shared/platform/settings/settings.ts'
import { createOutcome, type Explain, exitCodes, type OutcomeStreams } from '../../shared/platform/terminal/outcome.ts'
import type { readOperatorConfig } from '../config.ts'
import { StepError } from '../key-ring/life-cycle.ts'
import { type OpsSystems, opsSystems } from './offline/ops-systems.ts'
import { withText } from './terminal/help.ts'

type Configuration = ReturnType<typeof readOperatorConfig>

/** Runs one command and resolves to the exit code. */
export async function runCli(
  parameters: readonly string[],
  { config, problems }: Configuration,
  streams: OutcomeStreams,
): Promise<number> {
  if (problems.length > 0) {
    streams.errors.write(`${new InvalidSettings(problems).message}\n`)
    return exitCodes.wrongUsage
  }
  const gone = insteadOf(parameters)
  if (gone !== undefined) {
    streams.errors.write(`${gone}\n`)
    return exitCodes.wrongUsage
  }
  const { program, outcome } = await createOpsProgram(config, streams, parameters)
  try {
    await program.parseAsync(keyIdsLast(parameters), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode !== 0) return exitCodes.wrongUsage
  }
  return outcome.exitCode()
}

/**
 * Creates the tool with the group of commands that `parameters` name, or with all groups. The code of the other groups
 * is not even loaded.
 */
export async function createOpsProgram(
  config: Configuration['config'],
  streams: OutcomeStreams,
  parameters: readonly string[] = [],
) {
  const program = new Command('ops')
    .description(
      'Keyhold for operators. The settings are those of the servers: run it where they run, with their environment.',
    )
    .version(projectVersion())
    .option('--json', 'print one JSON value')
    .showHelpAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void streams.output.write(text),
      writeErr: (text) => void streams.errors.write(text),
    })
  withText(
    program,
    '`keyhold api` does over HTTP what an administrator may do: users, API keys, services, logins, the audit log.\n' +
      'Only `keys verify` asks a server, at AUTH_URL or else AUTH_PUBLIC_ORIGIN. NODE_EXTRA_CA_CERTS names the PEM file\n' +
      'of a private certificate authority.',
    'Exit codes: 0 done, 1 refused or failed, with the reason, 2 wrong usage or settings.',
  )
  const outcome = createOutcome(streams, () => program.opts().json === true, explainStep)
  const first = parameters.find((parameter) => !parameter.startsWith('-')) ?? ''
  const ports = opsSystems(config, outcome)
  for (const load of Object.hasOwn(groups, first) ? [groups[first]] : Object.values(groups))
    (await load?.())?.(program, ports)
  return { program, outcome }
}

/** A step that the key ring does not allow now. */
const explainStep: Explain = (error) =>
  error instanceof StepError ? [exitCodes.refused, `Refused: ${error.message}`] : undefined

/** What stands for groups of former releases, and the commands that are left of them. */
const overHttp: Readonly<Record<string, { readonly left: readonly string[]; readonly path: string }>> = {
  users: { left: ['recover-admin'], path: '/users' },
  'api-keys': { left: [], path: '/api-keys' },
  services: { left: [], path: '/services' },
  sessions: { left: [], path: '/users/NAME/sessions' },
  audit: { left: ['verify', 'drop'], path: '/audit' },
}

/** The sentence about a command that the tool has no more. */
function insteadOf(parameters: readonly string[]): string | undefined {
  const [group = '', command] = parameters.filter((parameter) => !parameter.startsWith('-'))
  const known = Object.hasOwn(overHttp, group) ? overHttp[group] : undefined
  if (!known || (command === undefined ? known.left.length > 0 : known.left.includes(command))) return undefined
  const words = [group, ...(command === undefined ? [] : [command])].join(' ')
  return `There is no ops ${words}: log in by keyhold login, then see keyhold api --help and keyhold api GET ${known.path}.`
}

/** Moves ids of keys to the end, behind `--`. One id in 64 begins with a hyphen and would be read as an option. */
function keyIdsLast(parameters: readonly string[]): readonly string[] {
  const isHyphenated = (parameter: string) => /^-[A-Za-z0-9_-]{42}$/.test(parameter)
  const ids = parameters.filter(isHyphenated)
  if (ids.length === 0 || parameters.includes('--')) return parameters
  return [...parameters.filter((parameter) => !isHyphenated(parameter)), '--', ...ids]
}

/** The groups in the order of the help. */
const groups: Readonly<Record<string, () => Promise<(program: Command, ports: OpsSystems) => void>>> = {
  keys: async () => (await import('./commands/keys.ts')).addKeyCommands,
  users: async () => (await import('./commands/recovery.ts')).addRecovery,
  audit: async () => (await import('./commands/audit.ts')).addAuditCommands,
  secrets: async () => (await import('./commands/secrets.ts')).addSecretCommands,
  deals: async () => (await import('./commands/deals.ts')).addDealCheckCommands,
}
