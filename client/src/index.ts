/** Typed client of Keyhold's two servers. Start with `createKeyhold` and a credential. */
export type { Api, Page, Success } from './api.ts'
export {
  type FaultyMember,
  isProblem,
  KeyholdProblem,
  KeyholdProposed,
  KeyholdUnreachable,
  type ProblemCode,
  type ProblemDocument,
} from './core/problem.ts'
export { type AccessTokenSource, accessToken } from './credentials/access-token.ts'
export { basic } from './credentials/basic.ts'
export {
  type BearerOptions,
  bearer,
  type ChallengeAnswer,
  NotLoggedIn,
  type PasswordLogin,
  type TokenStore,
  type Tokens,
} from './credentials/bearer.ts'
export type {
  Credential,
  CredentialCall,
  CredentialPorts,
  OutgoingRequest,
  Refusal,
  ServerName,
} from './credentials/credential.ts'
export { type DigestOptions, digest } from './credentials/digest.ts'
export { type KeySignedMember, type KeySignedOptions, keySigned } from './credentials/key-signed.ts'
export { type SessionUser, session } from './credentials/session.ts'
export {
  type HmacKeyOptions,
  hmacKey,
  type RsaKeyOptions,
  rsaKey,
  type SignatureForm,
  type WebCryptoKey,
} from './credentials/signed-request.ts'
export { type DealEvent, type EventsOptions, events, isReset, type KeyholdEvent, type Reset } from './events.ts'
export type { components as AuthComponents, paths as AuthPaths } from './generated/auth.ts'
export type { components as DealComponents, paths as DealPaths } from './generated/deal.ts'
export { createKeyhold, type Keyhold, type KeyholdOptions } from './keyhold.ts'
export type { RetryOptions } from './send.ts'
