/**
 * Verifies the credentials of callers for a service that follows an auth server of Keyhold. `hono`, `express` and
 * `fastify` of this package are the middleware for these frameworks.
 */
export { createVerifier } from './verifier/create-verifier.ts'
export { Refusal } from './verifier/refusal.ts'
export type {
  Caller,
  Origin,
  SchemeName,
  Verifier,
  VerifierLog,
  VerifierOptions,
} from './verifier/verifier.ts'
