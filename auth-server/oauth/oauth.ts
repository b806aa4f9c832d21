import type { Database } from '../../shared/platform/database/database.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import {
  type ClientCredentialsPorts,
  createClientCredentialsGrant,
  type GrantClientCredentials,
} from './client-credentials.ts'
import { type AuthenticateClient, type ClientPorts, createClientAuthentication } from './clients.ts'
import { createEndToken, type EndToken, type EndTokenPorts } from './end-token.ts'
import { type InspectPorts, issueOfToken, type LiveToken, readLiveToken, type TokenIssue } from './inspect-token.ts'

/** What the OAuth endpoints do. */
export interface OAuth {
  readonly authenticateClient: AuthenticateClient
  readonly grantClientCredentials: GrantClientCredentials
  /** @throws Unavailable */
  readLiveToken(token: string): Promise<LiveToken | undefined>
  readonly endToken: EndToken
  /** Undefined for what is no token. */
  issueOfToken(token: string): Promise<TokenIssue | undefined>
}

/** What OAuth needs. */
export interface OAuthPorts extends ClientPorts, ClientCredentialsPorts, InspectPorts, EndTokenPorts {
  readonly database: Database
  readonly apiKeys: ApiKeys
  /** As the database has it now. */
  readonly principal: (username: string) => Promise<PrincipalRecord | undefined>
}

/** OAuth over these ports. */
export const createOAuth = (ports: OAuthPorts): OAuth => ({
  authenticateClient: createClientAuthentication(ports),
  grantClientCredentials: createClientCredentialsGrant(ports),
  endToken: createEndToken(ports),
  readLiveToken: (token) => readLiveToken(ports, token),
  issueOfToken: (token) => issueOfToken(ports, token),
})
