/** docs/routes.md: every route of both servers, made from the definitions of the routes that they serve. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { commands } from '../../deal-server/use-cases/index.ts'
import type { Operation } from '../../shared/platform/http/operation.ts'
import type { AppOptions, Route } from '../../shared/platform/http/server/routes.ts'
import type { Exchange } from '../../shared/protocol/internal-api/exchange.ts'
import type { Endpoint } from '../../shared/server/endpoints/endpoint.ts'

/** The routes of each app, the endpoints and the pages, in the order in which both servers are put together. */
const made = vi.hoisted(() => ({
  routes: [] as (readonly Route[])[],
  endpoints: [] as Endpoint[],
  pages: [] as (readonly Page[])[],
}))

interface Page {
  readonly methods: readonly string[]
  readonly path: string
  readonly isOpen?: boolean
  readonly right?: string | undefined
}

vi.mock('../../shared/platform/http/server/routes.ts', async (original) => {
  const { createApp, ...module } = await original<typeof import('../../shared/platform/http/server/routes.ts')>()
  const noting = (options: AppOptions) => {
    made.routes.push(options.routes)
    return createApp(options)
  }
  return { ...module, createApp: noting }
})

vi.mock('../../shared/server/endpoints/routes.ts', async (original) => {
  const { routeOf, ...module } = await original<typeof import('../../shared/server/endpoints/routes.ts')>()
  const noting: typeof routeOf = (endpoint, run) => {
    made.endpoints.push(endpoint)
    return routeOf(endpoint, run)
  }
  return { ...module, routeOf: noting }
})

vi.mock('../../console/frame/console.tsx', async (original) => {
  const { consoleRoutes, ...module } = await original<typeof import('../../console/frame/console.tsx')>()
  const noting: typeof consoleRoutes = (server, pages) => {
    made.pages.push(pages)
    return consoleRoutes(server, pages)
  }
  return { ...module, consoleRoutes: noting }
})

const credentials = {
  password: 'a password, or the code of a link, in the body',
  token: 'a token of a login',
  client: 'an OAuth client, or the token itself',
  session: 'the session',
  forwarded: 'the credential of the request that is asked about',
  service: 'a service',
  browser: 'a session, if the browser has one',
}

const open = '**no credential**'

/** The credential and the right that an endpoint demands. */
function demandOf(endpoint: Endpoint): string {
  if (endpoint.caller === 'none') return open
  const { caller, right, account, grants } = endpoint
  if (caller) return credentials[caller.kind]
  if (right === undefined) return 'any caller'
  if (right === 'own-account') return 'any caller, for the own account'
  return `\`${right}\`${grants ? ', and the rights that it passes on' : ''}${account ? ', or the own account' : ''}`
}

const named = new Map(commands.map(({ name, right }) => [name, right]))

/** The right that an operation of a style demands. */
function rightOf({ right, tags }: Operation): string | undefined {
  return right ?? tags.map((tag) => named.get(tag)).find((found) => found !== undefined)
}

function demandOfStyle(operations: readonly Operation[]): string {
  if (operations.every(({ security }) => security?.length === 0)) return open
  const rights = new Set(operations.map(rightOf))
  const [right] = rights
  return rights.size === 1 && right !== undefined ? `\`${right}\`` : 'the right of the use case or query'
}

const folder = join(import.meta.dirname, '../../shared/protocol/internal-api')

/** `METHOD path` of each exchange below `/internal` → who may ask, and the first sentence of its comment. */
async function exchanges(): Promise<ReadonlyMap<string, readonly [who: string, purpose: string]>> {
  const found: [string, readonly [string, string]][] = []
  for (const file of readdirSync(folder)) {
    const text = readFileSync(join(folder, file), 'utf8')
    const module: Readonly<Record<string, Exchange>> = await import(join(folder, file))
    for (const [, comment = '', name = ''] of text.matchAll(
      /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport const (\w+Exchange) =/g,
    )) {
      const { method = '', path = '', openTo } = module[name] ?? {}
      const [purpose = ''] = /[^.]+/.exec(comment.replaceAll(/\s*\*\s|\s+/g, ' ').trim()) ?? []
      found.push([`${method} /internal${path}`, [whoAsks(openTo), purpose]])
    }
  }
  return new Map(found)
}

const whoAsks = (openTo: Exchange['openTo']): string =>
  openTo === 'all' ? 'the deal server, services' : openTo === 'services' ? 'services' : 'the deal server'

const sizeOf = (bytes: number): string =>
  bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`

/** The largest body; nothing for a method without one. */
function limitOf({ methods, maxBodyBytes }: Pick<Route, 'methods' | 'maxBodyBytes'>): string {
  if (methods.every((method) => method === 'GET') && maxBodyBytes === undefined) return ''
  return sizeOf(maxBodyBytes ?? 262_144)
}

const rowOf = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`

/** One row for each route that is described, and the paths of those that need no credential. */
function tableOf(routes: readonly Route[]): { readonly rows: string[]; readonly open: string[] } {
  const described = routes.flatMap((route) => {
    const operations = route.methods.flatMap((method) => route.describe?.(method) ?? [])
    const [first] = operations
    if (!first) return []
    const [method = ''] = route.methods
    const endpoint = made.endpoints.find((one) => one.method === method && one.path === route.path)
    const who = endpoint ? demandOf(endpoint) : demandOfStyle(operations)
    const purpose =
      new Set(operations.map(({ summary }) => summary)).size === 1 ? first.summary : 'A use case or query by its name'
    return [{ route, who, purpose }]
  })
  return {
    rows: described.map(({ route, who, purpose }) =>
      rowOf(route.methods.join(', '), `\`${route.path}\``, who, limitOf(route), purpose),
    ),
    open: described.filter(({ who }) => who === open).map(({ route }) => `\`${route.path}\``),
  }
}

async function internalRows(routes: readonly Route[]): Promise<string[]> {
  const known = await exchanges()
  return routes
    .filter(({ path }) => path.startsWith('/internal/'))
    .map((route) => {
      const [who, purpose] = known.get(`${route.methods.join()} ${route.path}`) ?? ['?', '?']
      return rowOf(route.methods.join(), `\`${route.path}\``, who, limitOf(route), purpose)
    })
}

const pageRows = (pages: readonly Page[]): string[] =>
  pages.map(({ methods, path, isOpen, right }) => {
    const who = isOpen ? open : right === undefined ? 'a session' : `a session; \`${right}\``
    return rowOf(methods.join(', '), `\`${path}\``, who)
  })

const head = ['| method | path | who may | body | what for |', '|---|---|---|---|---|']
const headOfPages = ['| method | path | who may |', '|---|---|---|']

async function routesPage(): Promise<string> {
  const [auth, deal] = made.routes.map(tableOf)
  const [ofAuth = [], ofDeal = []] = made.pages
  const openPages = made.pages.flat().filter(({ isOpen }) => isOpen)
  return `# Routes

Every route of both servers with the default settings, in the order of their tables, made from the definitions of the
routes. \`npx vitest run test/docs/routes-page.test.ts --update\` writes this page.

- **Who may**: *any caller* is a user or an API key by any [scheme](schemes.md); a name like \`user.manage\` is a right
  that such a caller needs. A right on deals may end with \`:own\`: then it is good for own deals. Other words name the
  credential that the route reads itself. In which order all this is checked is in
  [the contract](contract/callers.md#order-of-checks).
- **Body** is the largest one. Each GET is HEAD too, OPTIONS works but at \`/verify\`, and a slash at the end is free.

## Without a credential

| server | GET of |
|---|---|
${rowOf('auth server', auth?.open.join(', ') ?? '')}
${rowOf('deal server', deal?.open.join(', ') ?? '')}
${rowOf('pages for people', openPages.map(({ path }) => `\`${path}\``).join(', '))}

Beside them, the files that pages load.

## Auth server

${[...head, ...(auth?.rows ?? [])].join('\n')}

Between the servers, and for [services](contract/services.md):

${[...head, ...(await internalRows(made.routes[0] ?? []))].join('\n')}

## Deal server

${[...head, ...(deal?.rows ?? [])].join('\n')}

## Pages for people

They call the routes above in the name of the reader ([console.md](console.md)).

${[...headOfPages, ...pageRows([...ofAuth, ...ofDeal])].join('\n')}
`
}

it('the page of routes is that of the definitions, and leaves out files and missing pages alone', async () => {
  const { readDocuments } = await import('../../scripts/client-types/documents.ts')
  await readDocuments()
  expect(made.routes.length).toBe(2)
  const page = await routesPage()
  expect(page).not.toMatch(/\| \? \||undefined/)
  const served = made.routes.flat().map(({ methods, path }) => `${methods.join(', ')} | \`${path}\``)
  const missing = served.filter((row) => !page.includes(`| ${row} |`))
  const beside = ['/account/*', '/account/assets/:file', '/console/*', '/console/assets/:file']
  expect(missing.sort()).toEqual(beside.map((path) => `GET | \`${path}\``))
  await expect(page).toMatchFileSnapshot(join(import.meta.dirname, '../../docs/routes.md'))
})
