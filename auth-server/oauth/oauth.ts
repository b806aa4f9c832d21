import type { Database } from '../../shared/database/database.ts'
import type { PrincipalRecord } from '../../shared/principals/record.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import {
  type ClientCredentialsPorts,
  createClientCredentialsGrant,
  type GrantClientCredentials,
} from './client-credentials.ts'
import { type AuthenticateClient, type ClientPorts, createClientAuthentication } from './clients.ts'
import { createEndKeyToken, type EndKeyToken, type EndKeyTokenPorts } from './end-key-token.ts'
import { clientOfToken, type InspectPorts, type LiveToken, readLiveToken } from './inspect-token.ts'

/** What the OAuth endpoints do. */
export interface OAuth {
  readonly authenticateClient: AuthenticateClient
  readonly grantClientCredentials: GrantClientCredentials
  /** @throws Unavailable */
  readLiveToken(token: string): Promise<LiveToken | undefined>
  readonly endKeyToken: EndKeyToken
  /** Which client a token was issued to, dead or alive; undefined for what is no token. */
  clientOfToken(token: string): Promise<string | undefined>
}

/** What OAuth needs. */
export interface OAuthPorts extends ClientPorts, ClientCredentialsPorts, InspectPorts, EndKeyTokenPorts {
  readonly database: Database
  readonly apiKeys: ApiKeys
  /** As the database has it now. */
  readonly principal: (username: string) => Promise<PrincipalRecord | undefined>
}

/** OAuth over these ports. */
export const createOAuth = (ports: OAuthPorts): OAuth => ({
  authenticateClient: createClientAuthentication(ports),
  grantClientCredentials: createClientCredentialsGrant(ports),
  endKeyToken: createEndKeyToken(ports),
  readLiveToken: (token) => readLiveToken(ports, token),
  clientOfToken: (token) => clientOfToken(ports, token),
})
