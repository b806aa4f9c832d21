/** The OpenAPI documents of both servers as they are with the default settings, and their digests. */
import { createHash } from 'node:crypto'
import { readAuthConfig } from '../../auth-server/config.ts'
import { createAuthServer } from '../../auth-server/server.ts'
import type { AuthResources } from '../../auth-server/wiring/parts.ts'
import { authConsole } from '../../console/auth-console.ts'
import { dealConsole } from '../../console/deal-console.ts'
import { readDealConfig } from '../../deal-server/config.ts'
import { createDealServer, type DealResources } from '../../deal-server/server.ts'
import { systemClock } from '../../shared/platform/clock.ts'
import { createIdSource } from '../../shared/platform/ids.ts'
import { createMetrics } from '../../shared/platform/metrics/metrics.ts'
import { exchangeWith } from '../../test/support/clients/in-process.ts'

/** An OpenAPI document: the parts that differ between deployments, and all others. */
interface Document {
  readonly info: unknown
  readonly servers: unknown
  readonly [part: string]: unknown
}

/** Stands for what a server is put together from, and does not need to describe its routes. */
const absent: unknown = new Proxy(() => absent, { get: () => absent })
const parts = {
  database: absent,
  cache: absent,
  clock: systemClock,
  ids: createIdSource(systemClock),
  log: absent,
  metrics: createMetrics(),
}

/** Reads the documents from servers that have neither sockets nor data. */
export async function readDocuments(): Promise<Readonly<Record<'auth' | 'deal', Document>>> {
  const secrets = { secretsKeys: [Buffer.alloc(32).toString('base64url')], serviceSecrets: [''] }
  const auth = createAuthServer(readAuthConfig('together', {}).config, {
    ...parts,
    ...secrets,
    keyRing: absent,
    console: authConsole,
  } as AuthResources)
  const deal = createDealServer(readDealConfig('together', {}).config, {
    ...parts,
    serviceSecret: '',
    console: dealConsole,
  } as DealResources)
  const [ofAuth, ofDeal] = await Promise.all([auth.app, deal.app].map(documentOf))
  return { auth: ofAuth as Document, deal: ofDeal as Document }
}

const documentOf = async (app: Parameters<typeof exchangeWith>[0]): Promise<unknown> =>
  JSON.parse(await (await exchangeWith(app)('http://localhost/openapi.json', { method: 'GET', headers: {} })).text())

/** The digest of what a document says of the routes, wherever they are served and in whichever version. */
export const digestOf = ({ info: _info, servers: _servers, ...routes }: Document): string =>
  createHash('sha256').update(JSON.stringify(routes)).digest('hex')
