/** Calls of the auth server as an administrator: logged in at first, logged out in the end, whatever happens in between. */
import { z } from 'zod'
import { WrongUsage } from '../terminal/report.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type Ask, nothing, ProblemAnswered } from './http-client.ts'

/** The auth server as an administrator sees it. */
export interface AdminClient {
  readonly username: string
  /** One's own password is changed with it. */
  readonly password: string
  readonly ask: Ask
  /** The items of all pages. */
  listAll<Item>(
    path: string,
    parameters: Readonly<Record<string, string | undefined>>,
    item: z.ZodType<Item>,
  ): Promise<Item[]>
}

/** Runs `work` between login and logout. */
export type WithAdmin = <Result>(work: (client: AdminClient) => Promise<Result>) => Promise<Result>

/** KEYHOLD_ADMIN_USER and KEYHOLD_ADMIN_PASSWORD; what is missing is asked for. */
export interface AdminSettings {
  readonly username: string | undefined
  readonly password: string | undefined
  /** False where the way to the auth server is open to others: plain HTTP to another machine. */
  readonly mayTravel: boolean
}

export interface WithAdminPorts {
  readonly ask: Ask
  readonly admin: AdminSettings
  readonly terminal: Terminal
  /** Ctrl-C gives up the call under way, so that there is time to log out. */
  readonly interrupted: () => AbortSignal
}

const tokensSchema = z.object({ access_token: z.string(), refresh_token: z.string() })

type Tokens = z.infer<typeof tokensSchema>

/** @throws WrongUsage when nobody says who logs in; Interrupted; and whatever calls throw */
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

/** What was done stands, whether or not this works: the token dies by itself, and with the user's password or logout it is dead already. */
async function logOut(ask: Ask, { access_token: token }: Tokens): Promise<void> {
  await ask({ method: 'POST', path: '/logout', token, answer: nothing }).catch(() => undefined)
}

const listAllOver =
  (ask: Ask): AdminClient['listAll'] =>
  async <Item>(path: string, parameters: Readonly<Record<string, string | undefined>>, item: z.ZodType<Item>) => {
    const page = z.object({ items: z.array(item), nextCursor: z.string().nullable() })
    const items: Item[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const given = Object.entries({ ...parameters, limit: '200', cursor }).filter(isThere)
      const answer: z.infer<typeof page> = await ask({ path: `${path}?${new URLSearchParams(given)}`, answer: page })
      items.push(...answer.items)
      cursor = answer.nextCursor
    }
    return items
  }

const isThere = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined
