/** All that callers can read of what is stored, at servers of whatever release. */
import type { TestServer } from '../../support/worlds/stack.ts'
import { call } from './made-credentials.ts'
import type { MadeDeals } from './made-deals.ts'
import type { Servers } from './servers.ts'

type Item = Readonly<Record<string, unknown>>

/** All pages of a list. */
export async function pagesOf(server: TestServer, path: string, token: string): Promise<Item[][]> {
  const pages: Item[][] = []
  for (let cursor: unknown = ''; cursor !== null; ) {
    const next = cursor === '' ? path : withCursor(path, String(cursor))
    const { body } = await call(server, 200, next, { token })
    pages.push(body.items as Item[])
    cursor = body.nextCursor
  }
  return pages
}

const withCursor = (path: string, cursor: string): string => `${path}&cursor=${encodeURIComponent(cursor)}`

/** The place of an event and the last use of a key are no lasting facts. */
const withoutPlaces = (items: readonly Item[]): Item[] =>
  items.map(({ position: _, lastUsedAt: __, ...others }) => others)

/** What must be the same afterwards; new members may come. `usernames`: users that exist. */
export async function readAll({ auth, deal }: Servers, token: string, made: MadeDeals, usernames: readonly string[]) {
  const listOf = async (server: TestServer, path: string) => (await pagesOf(server, path, token)).flat()
  const each = async <Value>(names: readonly string[], read: (name: string) => Promise<Value>) =>
    Object.fromEntries(await Promise.all(names.map(async (name) => [name, await read(name)] as const)))
  const shown = made.ids.filter((id) => id !== made.byState.DELETED)
  return {
    users: await listOf(auth, '/users?limit=200'),
    catalogue: await each(
      ['/resource-servers', '/roles', '/services'],
      async (path) => (await call(auth, 200, path, { token })).body,
    ),
    apiKeys: await each(usernames, (name) => listOf(auth, `/api-keys?username=${name}&limit=200`)),
    logins: await each(usernames, (name) => listOf(auth, `/users/${name}/sessions?limit=200`)),
    keys: (await call(auth, 200, '/keys', { token })).body,
    audit: await listOf(auth, '/audit?limit=200'),
    deals: await each(shown, async (id) => (await call(deal, 200, `/rest/v1/deals/${id}`, { token })).body),
    deleted: (await deal.send(`/rest/v1/deals/${made.byState.DELETED}`, { token })).body.deletedAt,
    list: await listOf(deal, '/rest/v1/deals?limit=200'),
    sums: (await call(deal, 200, '/rest/v1/deals/summary', { token })).body,
    histories: await each(made.ids, async (id) =>
      withoutPlaces(await listOf(deal, `/rest/v1/deals/${id}/history?limit=200`)),
    ),
    commands: await each(shown, (id) => listOf(deal, `/rest/v1/deals/${id}/commands?limit=200`)),
    tasks: (await call(deal, 200, '/query/AssignedTask/alice', { token })).text,
  }
}

/** A list whose second page was read. */
export interface ReadPage {
  readonly server: keyof Servers
  readonly path: string
  readonly cursor: string
  readonly items: readonly Item[]
}

/** Reads the second pages of lists of all kinds. */
export async function readSecondPages(servers: Servers, token: string, { byState }: MadeDeals): Promise<ReadPage[]> {
  const paths: [keyof Servers, string][] = [
    ['deal', '/rest/v1/deals?limit=7'],
    ['deal', '/rest/v1/deals?limit=7&sort=name'],
    ['deal', '/rest/v1/deals?limit=7&sort=-updatedAt'],
    ['deal', `/rest/v1/deals/${byState.OPEN}/history?limit=2`],
    ['deal', `/rest/v1/deals/${byState.OPEN}/commands?limit=1`],
    ['auth', '/users?limit=2'],
    ['auth', '/audit?limit=10'],
    ['auth', '/api-keys?username=alice&limit=1'],
  ]
  const pages: ReadPage[] = []
  for (const [server, path] of paths) {
    const { body } = await call(servers[server], 200, path, { token })
    const cursor = String(body.nextCursor)
    const { items } = (await call(servers[server], 200, withCursor(path, cursor), { token })).body
    pages.push({ server, path, cursor, items: withoutPlaces(items as Item[]) })
  }
  return pages
}

/** Reads such a page again. */
export const readAgain = (servers: Servers, { server, path, cursor }: ReadPage, token: string) =>
  servers[server].send(withCursor(path, cursor), { token })
