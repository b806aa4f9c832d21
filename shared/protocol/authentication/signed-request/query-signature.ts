/** Signed requests in the form of the specification: `timestamp`, `apiKey` and `signature` in the query. */

import { audiencesOf, falseClaim } from '../request-claims.ts'
import { readSignedQuery, stringToSign } from './canonical-query.ts'
import { invalidSignature, type ReadSignature } from './request-signature.ts'

/** Bounds of the parameters: ids of API keys and times are short. */
const keyIdForm = /^[\x21-\x7e]{1,64}$/
const timestampForm = /^\d{1,12}$/
const signatureForm = /^(?:[0-9A-Fa-f]{2}){1,1024}$/

/**
 * Reads the signature in the query. @throws ProblemError `invalid-signature`, `invalid-parameter`,
 * `ambiguous-parameter`
 */
export const readQuerySignature: ReadSignature = (request, own) => {
  const parameters = readSignedQuery(request.rawQuery)
  const valueOfParameter = (name: string): string | undefined =>
    parameters.find((parameter) => parameter.name === name)?.value
  const keyId = valueOfParameter('apikey') ?? ''
  const timestamp = valueOfParameter('timestamp') ?? ''
  const signature = valueOfParameter('signature') ?? ''
  if (!keyIdForm.test(keyId)) throw invalidSignature('apiKey must be the id of an API key')
  if (!timestampForm.test(timestamp)) throw invalidSignature('timestamp must be the time in seconds since 1970')
  if (!signatureForm.test(signature)) throw invalidSignature('signature must be in hexadecimal')
  return {
    keyId,
    signedAt: Number(timestamp),
    signature: Buffer.from(signature, 'hex'),
    signed: Buffer.from(stringToSign(request.path, parameters)),
    fields: [],
    bindsBody: valueOfParameter('bodysha256') !== undefined,
    bindsMethod: valueOfParameter('method') !== undefined,
    bindsAudience: valueOfParameter('audience') !== undefined,
    falseClaim: () => falseClaim(request, audiencesOf(request, own)),
  }
}
