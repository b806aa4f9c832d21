/**
 * Keyhold and `oidc-provider`, which the OpenID Foundation has certified, as servers that get the same requests: each
 * with the same clients, and a browser in which a user is signed in.
 */
import type { KeyObject } from 'node:crypto'
import { rsaPair } from '../../../support/rsa-pair.ts'

/** The clients that both know, by what they are for. */
export const roles = {
  /** Authenticates by Basic. */
  web: { redirectUris: ['https://app.example/cb', 'https://app.example/other?tenant=1'] },
  /** Another client like it. */
  other: { redirectUris: ['https://other.example/cb'] },
  /** Authenticates in the form. */
  post: { redirectUris: ['https://post.example/cb'] },
  /** May leave PKCE out. */
  plain: { redirectUris: ['https://plain.example/cb'] },
  /** Authenticates by `private_key_jwt`. */
  signer: { redirectUris: ['https://signer.example/cb'] },
  /** Public. */
  page: { redirectUris: ['https://page.example/cb'] },
  /** Public, on the user's machine. */
  native: { redirectUris: ['http://127.0.0.1/cb', 'com.example.app:/cb'] },
  /** Public, of another party: it needs consent. */
  third: { redirectUris: ['https://third.example/cb'] },
} as const

/** What a client is for. */
export type Role = keyof typeof roles

/** A client as one of the servers knows it. */
export interface SideClient {
  readonly id: string
  /** Empty for clients without one. */
  readonly secret: string
}

/** A server with its clients. */
export interface Side {
  readonly issuer: string
  readonly endpoints: Readonly<Record<'authorize' | 'par' | 'token' | 'userinfo', string>>
  readonly clients: Readonly<Record<Role, SideClient>>
  /** The cookie of a browser with a user who is signed in. */
  readonly cookie: string
  /** In milliseconds. */
  now(): number
  close(): Promise<void>
}

/** The key of the client `signer`, and one of nobody. */
export const [signerKey, nobodysKey]: readonly { readonly privateKey: KeyObject; readonly publicKey: KeyObject }[] = [
  rsaPair(),
  rsaPair(),
]

/** The scopes that both know; the last is a right of Keyhold. */
export const scopes = ['openid', 'offline_access', 'profile', 'email', 'roles', 'deal.read']

/** The audience of a resource server that no client may use. */
export const foreignAudience = 'urn:example:foreign'
