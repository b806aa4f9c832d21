/** Calls the auth server as an administrator: logs in first, and logs out in the end, also after an error. */
import * as z from 'zod'
import { WrongUsage } from '../../../shared/platform/terminal/report.ts'
import type { Terminal } from '../../../shared/platform/terminal/terminal.ts'
import { noContent, ProblemReceived, type Send } from './http-client.ts'

/** The auth server as an administrator sees it. */
export interface AdminClient {
  readonly username: string
  /** The administrator's password. It is needed to change this password itself. */
  readonly password: string
  readonly send: Send
  /** Reads the items of all pages of a list. */
  listAll<Item>(
    path: string,
    parameters: Readonly<Record<string, string | undefined>>,
    item: z.ZodType<Item>,
  ): Promise<Item[]>
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
  readonly send: Send
  readonly admin: AdminSettings
  readonly terminal: Terminal
  /** Ctrl-C aborts the running call, so that the tool can still log out. */
  readonly interrupted: () => AbortSignal
}

const tokensSchema = z.object({ access_token: z.string(), refresh_token: z.string() })

type Tokens = z.infer<typeof tokensSchema>

/**
 * Creates the login of the administrator.
 *
 * @throws WrongUsage without a user and a terminal; Interrupted; errors of calls
 */
export function createWithAdmin({ send, admin, terminal, interrupted }: WithAdminPorts): WithAdmin {
  return async (work) => {
    const { username, password } = await credentials(admin, terminal)
    const signal = interrupted()
    let tokens = await logIn({ send, admin, terminal }, { username, password })
    const sendAsAdmin: Send = async (message) => {
      try {
        return await send({ ...message, signal, token: tokens.access_token })
      } catch (error) {
        if (!(error instanceof ProblemReceived) || error.code !== 'token-expired') throw error
        tokens = await refresh(send, tokens)
        return send({ ...message, signal, token: tokens.access_token })
      }
    }
    try {
      return await work({ username, password, send: sendAsAdmin, listAll: listAllOver(sendAsAdmin) })
    } finally {
      await logOut(send, tokens)
    }
  }
}

/** Logs in, and asks for the second factor where the user needs one. @throws WrongUsage; errors of the call */
async function logIn(
  { send, admin, terminal }: Pick<WithAdminPorts, 'send' | 'admin' | 'terminal'>,
  user: { readonly username: string; readonly password: string },
): Promise<Tokens> {
  const login = (body: object) => send({ method: 'POST', path: '/login', body, response: tokensSchema })
  try {
    return await login(user)
  } catch (error) {
    if (!(error instanceof ProblemReceived) || error.code !== 'second-factor-required') throw error
    if (admin.code === undefined && !terminal.isInteractive) {
      throw new WrongUsage(`${user.username} needs a second factor: set KEYHOLD_ADMIN_CODE, or run this at a terminal.`)
    }
    const code = admin.code ?? (await terminal.ask(`Code of ${user.username}, from the app or a recovery code: `))
    return login({ ...user, code })
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

const refresh = (send: Send, { refresh_token: token }: Tokens): Promise<Tokens> =>
  send({ method: 'POST', path: '/refresh', token, response: tokensSchema })

/**
 * Logs out. A failure does not matter: the token expires, and a changed password or a logout of the user has already
 * revoked it.
 */
async function logOut(send: Send, { access_token: token }: Tokens): Promise<void> {
  await send({ method: 'POST', path: '/logout', token, response: noContent }).catch(() => undefined)
}

const listAllOver =
  (send: Send): AdminClient['listAll'] =>
  async <Item>(path: string, parameters: Readonly<Record<string, string | undefined>>, item: z.ZodType<Item>) => {
    const page = z.object({ items: z.array(item), nextCursor: z.string().nullable() })
    const items: Item[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = Object.entries({ ...parameters, limit: '200', cursor }).filter(isThere)
      const found: z.infer<typeof page> = await send({ path: `${path}?${new URLSearchParams(query)}`, response: page })
      items.push(...found.items)
      cursor = found.nextCursor
    }
    return items
  }

const isThere = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined
