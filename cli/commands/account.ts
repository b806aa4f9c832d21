/** `keyhold login`, `logout`, `whoami` (docs/contract/operators.md#command-line). */
import type { Command } from 'commander'
import {
  bearer,
  type ChallengeAnswer,
  createKeyhold,
  isProblem,
  type PasswordLogin,
  type Tokens,
} from '../../client/src/index.ts'
import { isLoopbackHost } from '../../shared/platform/loopback.ts'
import { type Report, WrongUsage } from '../../shared/platform/terminal/report.ts'
import { commandLineClientId } from '../../shared/protocol/access-token/access-token.ts'
import type { CallerConfig } from '../context/config.ts'
import type { CallerPorts } from '../context/ports.ts'
import { NoLogin } from '../login/login-file.ts'

interface LoginOptions {
  readonly user?: string
  readonly passwordStdin?: boolean
  readonly device?: boolean
  readonly authUrl: string
  readonly dealUrl: string
  readonly allowInsecureHttp?: boolean
}

/** Adds the commands to the program. */
export function addAccountCommands(program: Command, ports: CallerPorts): void {
  const { config, report } = ports
  program
    .command('login')
    .description('log in, and keep the login in a file that only you can read')
    .argument('[username]', 'who you are; KEYHOLD_USER, or else you are asked')
    .option('--password-stdin', 'read the password from standard input')
    .option('--device', 'sign in with a browser, here or on another machine, in place of a password')
    .option('--auth-url <url>', 'the auth server; KEYHOLD_AUTH_URL', config.authUrl)
    .option('--deal-url <url>', 'the deal server; KEYHOLD_DEAL_URL', config.dealUrl)
    .option('--allow-insecure-http', 'send the password over plain HTTP to another machine')
    .addHelpText('after', '\nThe password is never an argument. It comes from KEYHOLD_PASSWORD, or you are asked.')
    .action(
      report((user: string | undefined, options: LoginOptions) => logIn(ports, { ...options, ...(user && { user }) })),
    )
  program
    .command('logout')
    .description('end the login on the server, and forget it')
    .action(report(() => logOut(ports)))
  program
    .command('whoami')
    .description('who is logged in, with which rights')
    .action(report(() => whoAmI(ports)))
}

async function logIn(ports: CallerPorts, options: LoginOptions): Promise<Report> {
  const [authUrl = '', dealUrl = ''] = [options.authUrl, options.dealUrl].map((url) => checkedUrl(url, options))
  const urls = { authUrl, dealUrl }
  const { username, roles, ...kept } = await (options.device
    ? byBrowser(ports, urls)
    : byPassword(ports, urls, options))
  const file = ports.loginFile()
  await file.exclusively(() => file.write(kept.tokens && { ...urls, username, ...kept, tokens: kept.tokens }))
  return { json: { ...urls, username, roles }, text: `You are logged in as ${username}.` }
}

interface Urls {
  readonly authUrl: string
  readonly dealUrl: string
}

async function byBrowser({ streams }: CallerPorts, urls: Urls) {
  const { logInByBrowser } = await import('../login/device-login.ts')
  const tokens = await logInByBrowser(createKeyhold(urls), (text) => streams.errors.write(text))
  const keyhold = createKeyhold({ ...urls, credential: bearer({ tokens, clientId: commandLineClientId }) })
  const { username, roles } = (await keyhold.auth.GET('/me')).data
  return { username, roles, tokens, clientId: commandLineClientId }
}

async function byPassword(ports: CallerPorts, urls: Urls, options: LoginOptions) {
  const user = await credentials(ports, options)
  let tokens: Tokens | undefined
  const store = {
    read: async () => undefined,
    write: async (issued: Tokens | undefined) => {
      tokens = issued
    },
  }
  const { data } = await withFactor(ports, user, async (proof) => {
    const keyhold = createKeyhold({ ...urls, credential: bearer({ ...proof, store }) })
    return keyhold.auth.GET('/me')
  })
  return { username: data.username, roles: data.roles, tokens }
}

/** Logs in, and once more with a second factor where the server asks for one, or for its set-up. */
async function withFactor<Result>(
  { config, terminal, streams }: CallerPorts,
  user: PasswordLogin,
  logInAs: (proof: PasswordLogin | ChallengeAnswer) => Promise<Result>,
): Promise<Result> {
  const codeOf = (question: string) => {
    if (config.code !== undefined) return config.code
    if (terminal.isInteractive) return terminal.ask(question)
    throw new WrongUsage(`${user.username} needs a second factor: set KEYHOLD_CODE, or run this at a terminal.`)
  }
  try {
    return await logInAs(user)
  } catch (error) {
    if (isProblem(error, 'second-factor-required')) {
      return logInAs({ ...user, code: await codeOf('Code of the app, or a recovery code: ') })
    }
    if (!isProblem(error, 'second-factor-enrolment-required') || !terminal.isInteractive) throw error
    const { challenge, totp } = error.document as { challenge?: unknown; totp?: { secret?: unknown; uri?: unknown } }
    const secret = `Secret: ${totp?.secret}\nURI:    ${totp?.uri}\n`
    streams.errors.write(`${user.username} needs a second factor. Add this to an authenticator app:\n${secret}`)
    return logInAs({ challenge: String(challenge), code: await codeOf('First code of the app: ') })
  }
}

/** @throws WrongUsage */
function checkedUrl(text: string, { allowInsecureHttp = false }: LoginOptions): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new WrongUsage(`'${text}' is no URL of a server.`)
  if (url.protocol === 'https:' || allowInsecureHttp || isLoopbackHost(url.hostname)) return text.replace(/\/+$/, '')
  throw new WrongUsage(`${text} is not https. Add --allow-insecure-http to send the password all the same.`)
}

async function credentials({ config, terminal }: CallerPorts, options: LoginOptions) {
  const username =
    options.user ?? config.username ?? (await asked(terminal.isInteractive, () => terminal.ask('User: ')))
  return { username, password: await passwordOf(username, { config, terminal, options }) }
}

async function passwordOf(
  username: string,
  { config, terminal, options }: Pick<CallerPorts, 'terminal'> & { config: CallerConfig; options: LoginOptions },
): Promise<string> {
  if (options.passwordStdin) return terminal.readAll()
  if (config.password !== undefined) return config.password
  return asked(terminal.isInteractive, () => terminal.askHidden(`Password of ${username}: `))
}

function asked(isInteractive: boolean, ask: () => Promise<string>): Promise<string> {
  if (isInteractive) return ask()
  throw new WrongUsage(
    'There is no terminal to ask at: set KEYHOLD_USER and KEYHOLD_PASSWORD, or use --password-stdin.',
  )
}

async function logOut({ loginFile, connect, warn }: CallerPorts): Promise<Report> {
  const file = loginFile()
  const login = await file.read()
  if (!login) throw new NoLogin()
  const keyhold = await connect()
  try {
    await keyhold.logOut()
  } catch (error) {
    // The file is gone in any case; the server ends the login by itself in the end.
    warn(`The login is forgotten here, but the server did not end it: ${(error as Error).message}`)
  }
  return { json: { username: login.username, loggedOut: true }, text: `${login.username} is logged out.` }
}

async function whoAmI({ connect, loginFile }: CallerPorts): Promise<Report> {
  const keyhold = await connect()
  const { data } = await keyhold.auth.GET('/me')
  const login = await loginFile().read()
  const lines = [
    `${data.username} at ${login?.authUrl}`,
    `roles   ${data.roles.join(', ') || '-'}`,
    `rights  ${data.rights.join(', ') || '-'}`,
  ]
  return { json: data, text: lines.join('\n') }
}
