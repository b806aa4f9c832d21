/** Clients as requests of theirs meet them: with their secrets, as the database has them now. */
import { sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { gatherRows } from '../../shared/platform/database/gather-statements.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { commandLineClientId, docsClientId } from '../../shared/protocol/access-token/access-token.ts'
import { docsPages } from '../../shared/server/pages/page-paths.ts'
import { ownResourceServer } from '../principals/rights.ts'
import { l } from '../store/aliases.ts'
import { builtInName } from '../store/built-in-clients.ts'
import { clients } from '../store/client-tables.ts'
import { type AcceptedSecrets, openSecrets, type SealedSecrets } from '../store/overlapping-secrets.ts'
import type { AssociatedData } from '../store/sealing.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { ClientRequest } from './client.ts'

/** A client as the database has it now. */
export interface KnownClient extends ClientRequest {
  readonly id: string
  /** Undefined for a public client, and for one with a key. */
  readonly secrets: AcceptedSecrets | undefined
}

/** The associated data of the encrypted secrets of a client. */
export const clientSecretData = (id: string): AssociatedData => ({ purpose: 'client-secret', row: id })

const read = parameters({ ids: 'json', now: 'timestamptz' })
/** Each id once. */
const readSql = read.statement(sql`select json_build_object('id', ${l.id}, 'name', ${l.name}, 'kind', ${l.kind},
    'firstParty', ${l.firstParty}, 'redirectUris', to_json(${l.redirectUris}),
    'postLogoutRedirectUris', to_json(${l.postLogoutRedirectUris}), 'rights', to_json(${l.rights}),
    'resourceServers', to_json(${l.resourceServers}), 'needsRight', ${l.needsRight},
    'requirePkce', ${l.requirePkce}, 'mode', ${l.mode}, 'publicKeyPem', ${l.publicKeyPem}) as client, ${l.secretSealed} as sealed,
    case when ${l.formerUntil} > ${read.now} then json_build_object('sealed', ${l.formerSecretSealed},
      'until', round(extract(epoch from ${l.formerUntil}) * 1000)::bigint) end as former
  from json_array_elements_text(${read.ids}) as i(id)
  cross join lateral (select * from ${clients} where ${clients.id} = i.id::uuid limit 1) l`)

interface Row {
  readonly client: Omit<KnownClient, 'secrets'>
  readonly sealed: string | null
  readonly former: SealedSecrets['former']
}

/** A client that is built in. Codes for it go to these URIs. */
const builtInClient = (id: string, redirectUris: string[]): KnownClient => ({
  id,
  name: builtInName(id),
  kind: 'public',
  firstParty: true,
  redirectUris,
  postLogoutRedirectUris: redirectUris,
  rights: null,
  resourceServers: [ownResourceServer],
  needsRight: null,
  requirePkce: true,
  mode: 'run',
  publicKeyPem: null,
  secrets: undefined,
})

/** Reads a client; undefined when there is none. @throws Unavailable */
export function createReadClient({ database, clock, sealing, publicOrigins }: AuthSystems) {
  const readRow = gatherRows(
    (ids) => database.query<Row>(...readSql({ ids, now: rfc3339(clock.now()) })),
    (row) => row.client.id,
  )
  // Without redirect URIs, only the device grant is open to the command line.
  const builtIn = [builtInClient(commandLineClientId, []), builtInClient(docsClientId, docsPages(publicOrigins))]
  return async function readClient(id: string): Promise<KnownClient | undefined> {
    const known = builtIn.find((client) => client.id === id)
    if (known) return known
    const row = isUuid(id) ? await readRow(id.toLowerCase()) : undefined
    if (!row) return undefined
    const { client, sealed, former } = row
    const open = (text: string) => sealing.open(text, clientSecretData(client.id))
    return { ...client, secrets: sealed === null ? undefined : openSecrets({ sealed, former }, open) }
  }
}
