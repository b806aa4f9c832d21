/** Calls the auth server as an administrator: logs in first, and logs out in the end, also after an error. */
import {
  bearer,
  createKeyhold,
  isProblem,
  type Keyhold,
  type PasswordLogin,
  type Tokens,
} from '../../../client/src/index.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import { WrongUsage } from '../../../shared/platform/terminal/report.ts'
import type { Terminal } from '../../../shared/platform/terminal/terminal.ts'
import { asSentence, otherAnswer } from './errors.ts'

/** The auth server as an administrator sees it. */
export interface AdminClient {
  readonly username: string
  /** The administrator's password. It is needed to change this password itself. */
  readonly password: string
  readonly authUrl: string
  /** Its calls. */
  readonly auth: Keyhold['auth']
}

/** Runs `work` between a login and a logout. */
export type WithAdmin = <Result>(work: (client: AdminClient) => Promise<Result>) => Promise<Result>

/** KEYHOLD_ADMIN_USER and KEYHOLD_ADMIN_PASSWORD. The tool asks for missing values at the terminal. */
export interface AdminSettings {
  readonly username: string | undefined
  readonly password: string | undefined
  /** KEYHOLD_ADMIN_CODE: the second factor, if the user needs one. */
  readonly code?: string | undefined
  /** False when the password must not be sent, because the connection is plain HTTP to another machine. */
  readonly mayTravel: boolean
}

/** Other parts that the administrator's login uses. */
export interface WithAdminPorts {
  readonly authUrl: string
  readonly fetch: typeof globalThis.fetch
  readonly clock: Pick<Clock, 'now'>
  readonly admin: AdminSettings
  readonly terminal: Terminal
  /** Ctrl-C aborts the running call, so that the tool can still log out. */
  readonly interrupted: () => AbortSignal
}

/**
 * Creates the login of the administrator.
 *
 * @throws WrongUsage without a user and a terminal; Interrupted; OperationError, OperationFailed
 */
export function createWithAdmin(ports: WithAdminPorts): WithAdmin {
  const { authUrl, fetch, admin, terminal, interrupted } = ports
  // A person sees at once that a server is away.
  const server = { authUrl, dealUrl: authUrl, retries: 0 }
  return async (work) => {
    const user = await credentials(admin, terminal)
    const signal = interrupted()
    const fetchUntil: typeof fetch = (input, init) =>
      fetch(input, { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) })
    try {
      const tokens = await logIn(createKeyhold({ ...server, fetch }), user, ports)
      const credential = bearer({ tokens })
      try {
        return await work({ ...user, authUrl, auth: createKeyhold({ ...server, fetch: fetchUntil, credential }).auth })
      } finally {
        // A failure does not matter: the tokens expire, and a changed password or a logout has already revoked them.
        const last = createKeyhold({ ...server, fetch, credential })
        await last.logOut().catch(() => undefined)
      }
    } catch (error) {
      throw asSentence(error, authUrl)
    }
  }
}

/** Logs in, and asks for the second factor where the user needs one. @throws WrongUsage; errors of the call */
async function logIn(
  { auth }: Pick<Keyhold, 'auth'>,
  user: PasswordLogin,
  { admin, terminal, clock, authUrl }: WithAdminPorts,
): Promise<Tokens> {
  const login = (body: PasswordLogin) => auth.POST('/login', { body })
  const { data } = await login(user).catch(async (error: unknown) => {
    if (!isProblem(error, 'second-factor-required')) throw error
    if (admin.code === undefined && !terminal.isInteractive) {
      throw new WrongUsage(`${user.username} needs a second factor: set KEYHOLD_ADMIN_CODE, or run this at a terminal.`)
    }
    const code = admin.code ?? (await terminal.ask(`Code of ${user.username}, from the app or a recovery code: `))
    return login({ ...user, code })
  })
  // Checked here alone: whatever gives tokens is an auth server, and all other answers come from the same one.
  if (typeof data?.access_token !== 'string') {
    throw otherAnswer(authUrl)
  }
  const now = clock.now()
  return {
    accessToken: data.access_token,
    refreshToken: data.refresh_token,
    expiresAt: now + data.expires_in * 1000,
    refreshExpiresAt: now + data.refresh_expires_in * 1000,
  }
}

async function credentials(admin: AdminSettings, terminal: Terminal) {
  if (!admin.mayTravel) {
    throw new WrongUsage('AUTH_URL must be https unless on loopback, or ALLOW_INSECURE_HTTP says otherwise.')
  }
  if (admin.username !== undefined && admin.password !== undefined) {
    return { username: admin.username, password: admin.password }
  }
  if (!terminal.isInteractive) {
    throw new WrongUsage(
      'Who logs in? Set KEYHOLD_ADMIN_USER and KEYHOLD_ADMIN_PASSWORD, or run this at a terminal to be asked.',
    )
  }
  const username = admin.username ?? (await terminal.ask('Administrator: '))
  return { username, password: admin.password ?? (await terminal.askHidden(`Password of ${username}: `)) }
}

/** A name or an id as one segment of a path. @throws WrongUsage for a text that cannot be a segment */
export function segment(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new WrongUsage(`'${text}' cannot be the name or id of anything here.`)
  return text
}

/** All items of a list. */
export async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}
