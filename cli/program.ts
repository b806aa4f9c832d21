/**
 * The command line for callers, with all its commands. Exit codes: 0 done, 1 refused or failed with the reason, 2 wrong
 * usage, 3 not logged in, 130 Ctrl-C. `--json` prints JSON for scripts.
 */
import { Command, CommanderError } from 'commander'
import { projectVersion } from '../shared/platform/project-folder.ts'
import { createOutcome, type Explain, exitCodes } from '../shared/platform/terminal/outcome.ts'
import { printable, printableLines } from '../shared/platform/terminal/printable.ts'
import { createTerminal } from '../shared/platform/terminal/terminal.ts'
import type { CallerConfig } from './context/config.ts'
import type { CallerPorts, CallerStreams } from './context/ports.ts'
import { endedLogin, NoLogin, openLoginFile } from './login/login-file.ts'
import type { DealServer } from './transfer/deal-server.ts'

/** Nobody is logged in, or the login has ended. */
const notLoggedIn = 3

/** Runs one command and resolves to the exit code. `keyhold ops …` is the operators' tool. */
export async function runKeyhold(
  parameters: readonly string[],
  config: CallerConfig,
  streams: CallerStreams,
): Promise<number> {
  if (parameters[0] === 'ops') return runOps(parameters.slice(1), streams)
  const { program, outcome } = await createKeyholdProgram(config, streams, parameters)
  try {
    await program.parseAsync(parameters, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode !== 0) return exitCodes.wrongUsage
  }
  return outcome.exitCode()
}

async function runOps(parameters: readonly string[], streams: CallerStreams): Promise<number> {
  const [{ runCli }, { readOperatorConfig }] = await Promise.all([
    import('../auth-server/cli/program.ts'),
    import('../auth-server/config.ts'),
  ])
  return runCli(parameters, readOperatorConfig(), streams)
}

/**
 * Creates the program with the group of commands that `parameters` name, or with all groups. The code of the other
 * groups is not even loaded.
 */
export async function createKeyholdProgram(
  config: CallerConfig,
  streams: CallerStreams,
  parameters: readonly string[] = [],
) {
  const program = new Command('keyhold')
    .description('Keyhold for callers: deals, tasks and every route of both servers at the command line.')
    .version(projectVersion())
    .option('--json', 'print JSON')
    .option('--profile <name>', 'the login to use; KEYHOLD_PROFILE, or else "default"', config.profile)
    .showHelpAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void streams.output.write(text),
      writeErr: (text) => void streams.errors.write(printableLines(text)),
    })
    .addHelpText(
      'after',
      '\n`keyhold ops` is the tool of operators: see `keyhold ops --help`.\n\n' +
        'Exit codes: 0 done, 1 refused or failed, with the reason, 2 wrong usage, 3 not logged in, 130 Ctrl-C.',
    )
  const isJson = () => program.opts().json === true
  const outcome = createOutcome(streams, isJson, explainProblem)
  const loginFile = () => openLoginFile(config.folder, program.opts().profile)
  const ports: CallerPorts = {
    ...outcome,
    config,
    isJson,
    loginFile,
    streams,
    terminal: createTerminal({ input: streams.input, output: streams.errors }),
    connect: async () => {
      const { connect } = await import('./login/connect.ts')
      return connect(loginFile())
    },
  }
  // A value, such as that of --profile, may be such a word too.
  const named = groups.filter(({ names }) => names.some((name) => parameters.includes(name)))
  const whole = async () => (await createKeyholdProgram(config, streams)).program
  for (const { add } of named.length > 0 ? named : groups) await add(program, ports, whole)
  return { program, outcome }
}

/** The deal server of the login. */
const dealServerOf = async ({ connect }: CallerPorts): Promise<DealServer> => {
  const keyhold = await connect()
  return { fetch: (path, init) => keyhold.fetch('deal', path, init) }
}

/** Refusals by the servers, in sentences. */
const explainProblem: Explain = (error) => {
  if (error instanceof NoLogin) return [notLoggedIn, error.message]
  if (!(error instanceof Error)) return undefined
  if (error.name === 'KeyholdUnreachable') {
    const isUntrusted = /CERT|SIGNATURE|ISSUER|ALTNAME/.test(error.message)
    const advice = isUntrusted ? ". Name the authority's PEM file in NODE_EXTRA_CA_CERTS." : ''
    return [exitCodes.refused, `Failed: ${error.message}${advice}`]
  }
  if (error.name !== 'KeyholdProblem') return undefined
  const { code, errors } = error as Error & { code: string; errors: { pointer: string; message: string }[] }
  if (endedLogin.includes(code)) return [notLoggedIn, `Your login has ended. Log in again: keyhold login (${code})`]
  return [
    exitCodes.refused,
    [`Refused: ${error.message}`, ...errors.map(({ pointer, message }) => `  ${pointer}: ${message}`)]
      .map(printable)
      .join('\n'),
  ]
}

interface Group {
  /** Its commands at the top level. */
  readonly names: readonly string[]
  readonly add: (program: Command, ports: CallerPorts, whole: () => Promise<Command>) => Promise<void>
}

/** The groups in the order of the help. */
const groups: readonly Group[] = [
  {
    names: ['login', 'logout', 'whoami'],
    add: async (program, ports) => (await import('./commands/account.ts')).addAccountCommands(program, ports),
  },
  {
    names: ['deals'],
    add: async (program, ports) => {
      const deals = program.command('deals').description('deals: read them, and change them by commands')
      const [reading, changing, following, transfer] = await Promise.all([
        import('./commands/deals.ts'),
        import('./commands/deal-commands.ts'),
        import('./commands/deal-events.ts'),
        import('./transfer/transfer-commands.ts'),
      ])
      reading.addDealReading(deals, ports)
      following.addDealEvents(deals, ports, reading.count)
      changing.addDealCommands(deals, ports)
      transfer.addTransferCommands(deals, { ...ports, dealServer: () => dealServerOf(ports) })
    },
  },
  {
    names: ['tasks'],
    add: async (program, ports) => (await import('./commands/tasks.ts')).addTasks(program, ports),
  },
  {
    names: ['api'],
    add: async (program, ports) => (await import('./api/api-command.ts')).addApi(program, ports),
  },
  {
    names: ['completion'],
    add: async (program, ports, whole) =>
      (await import('./commands/completion.ts')).addCompletion(program, ports, whole),
  },
]
