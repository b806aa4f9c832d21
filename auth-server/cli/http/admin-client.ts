/** Calls the auth server as an administrator: logs in first, and logs out in the end, also after an error. */
import { z } from 'zod'
import { WrongUsage } from '../terminal/report.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type Ask, nothing, ProblemAnswered } from './http-client.ts'

/** The auth server as an administrator sees it. */
export interface AdminClient {
  readonly username: string
  /** The administrator's password. It is needed to change this password itself. */
  readonly password: string
  readonly ask: Ask
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
  /** False when the password must not be sent, because the connection is plain HTTP to another machine. */
  readonly mayTravel: boolean
}

/** Other parts that the administrator's login uses. */
export interface WithAdminPorts {
  readonly ask: Ask
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
export const createWithAdmin =
  ({ ask, admin, terminal, interrupted }: WithAdminPorts): WithAdmin =>
  async (work) => {
    const { username, password } = await credentials(admin, terminal)
    const signal = interrupted()
    let tokens = await ask({ method: 'POST', path: '/login', body: { username, password }, answer: tokensSchema })
    const askAsAdmin: Ask = async (question) => {
      try {
        return await ask({ ...question, signal, token: tokens.access_token })
      } catch (error) {
        if (!(error instanceof ProblemAnswered) || error.code !== 'token-expired') throw error
        tokens = await refresh(ask, tokens)
        return ask({ ...question, signal, token: tokens.access_token })
      }
    }
    try {
      return await work({ username, password, ask: askAsAdmin, listAll: listAllOver(askAsAdmin) })
    } finally {
      await logOut(ask, tokens)
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

const refresh = (ask: Ask, { refresh_token: token }: Tokens): Promise<Tokens> =>
  ask({ method: 'POST', path: '/refresh', token, answer: tokensSchema })

/**
 * Logs out. A failure does not matter: the token expires, and a changed password or a logout of the user has already
 * revoked it.
 */
async function logOut(ask: Ask, { access_token: token }: Tokens): Promise<void> {
  await ask({ method: 'POST', path: '/logout', token, answer: nothing }).catch(() => undefined)
}

const listAllOver =
  (ask: Ask): AdminClient['listAll'] =>
  async <Item>(path: string, parameters: Readonly<Record<string, string | undefined>>, item: z.ZodType<Item>) => {
    const page = z.object({ items: z.array(item), nextCursor: z.string().nullable() })
    const items: Item[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = Object.entries({ ...parameters, limit: '200', cursor }).filter(isThere)
      const answer: z.infer<typeof page> = await ask({ path: `${path}?${new URLSearchParams(query)}`, answer: page })
      items.push(...answer.items)
      cursor = answer.nextCursor
    }
    return items
  }

const isThere = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined
