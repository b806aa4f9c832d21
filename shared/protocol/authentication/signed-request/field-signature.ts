/**
 * Signed requests by HTTP Message Signatures (RFC 9421): one signature in `Signature-Input` and `Signature` that covers
 * the parts which every request must bind.
 */
import { type Dictionary, parseDictionary } from 'structured-headers'
import type { HttpRequest } from '../../../platform/http/request.ts'
import { ProblemError } from '../../../platform/problems/errors.ts'
import { audiencesOf, falseClaim } from '../request-claims.ts'
import { verifyContentDigest } from './content-digest.ts'
import {
  bodyHashRequired,
  hasBody,
  invalidSignature,
  methodRequired,
  type ReadSignature,
  type ReceivedSignature,
} from './request-signature.ts'
import { type CoveredComponents, readCovered, signatureBase } from './signature-base.ts'

/**
 * Reads the signature in the header fields. @throws ProblemError `several-credentials`, and for parts that are not
 * covered
 */
export const readFieldSignature: ReadSignature = async (request, own) => {
  const { input, signature } = onlySignature(request)
  const covered = readCovered(input)
  requireCovered(covered, request)
  const coversDigest = covered.names.has('content-digest')
  if (!coversDigest && (await hasBody(request))) throw bodyHashRequired({ bindsMethod: true })
  const isDigestChecked = request.header('content-digest') !== undefined && !request.isBodyElsewhere
  // The body may be large: it is read when the signature is known to be genuine.
  const isDigestWrong = async () => isDigestChecked && !(await verifyContentDigest(request))
  return {
    ...readParameters(covered),
    signature,
    signed: Buffer.from(signatureBase(request, covered, request.foreignOrigin ?? own.publicOrigin), 'latin1'),
    fields: [...covered.names].filter((name) => !name.startsWith('@')),
    bindsBody: coversDigest,
    bindsMethod: true,
    bindsAudience: covered.names.has('@authority') || covered.names.has('@target-uri') || request.query.has('audience'),
    falseClaim: async () =>
      (await isDigestWrong()) ? 'Content-Digest' : falseClaim(request, audiencesOf(request, own)),
  }
}

/** The one signature: its input and its value under the same label. */
function onlySignature(request: HttpRequest): { input: ReturnType<Dictionary['get']>; signature: Buffer } {
  const inputs = dictionaryOf(request, 'signature-input')
  const signatures = dictionaryOf(request, 'signature')
  if (inputs.size > 1 || signatures.size > 1) {
    throw new ProblemError(
      'several-credentials',
      'Send exactly one signature; several are refused, even if one is valid.',
    )
  }
  const [label = ''] = inputs.keys()
  const value = signatures.get(label)?.[0]
  if (!(value instanceof ArrayBuffer)) {
    throw invalidSignature('Signature-Input and Signature must hold one signature under one label')
  }
  return { input: inputs.get(label), signature: Buffer.from(value) }
}

function dictionaryOf(request: HttpRequest, field: string): Dictionary {
  try {
    return parseDictionary(request.headerLines(field).join(', '))
  } catch {
    throw invalidSignature(`${field} must be a dictionary (RFC 9651)`)
  }
}

/** Refuses a signature that does not bind method, path and query: it would be valid for other requests, too. */
function requireCovered({ names }: CoveredComponents, request: HttpRequest): void {
  if (!names.has('@method')) throw methodRequired()
  const coversTarget = names.has('@target-uri')
  if (!coversTarget && !names.has('@path')) throw invalidSignature('it must cover @path or @target-uri')
  if (request.rawQuery !== '' && !coversTarget && !names.has('@query')) throw invalidSignature('it must cover @query')
}

const kindOfAlgorithm = { 'hmac-sha256': 'hmac', 'rsa-v1_5-sha256': 'rsa' } as const

/** The known parameters. `nonce` and `tag` are signed, and have no meaning for the server. */
const knownParameters = new Set(['created', 'expires', 'keyid', 'alg', 'nonce', 'tag'])

/** Reads the parameters of the signature (RFC 9421 §2.3). */
function readParameters({
  parameters,
}: CoveredComponents): Pick<ReceivedSignature, 'keyId' | 'signedAt' | 'expiresAt' | 'kind'> {
  for (const name of parameters.keys()) {
    if (!knownParameters.has(name)) throw invalidSignature(`the parameter ${name} is not known`)
  }
  const [created, expires] = [secondsOf(parameters.get('created')), secondsOf(parameters.get('expires'))]
  const [keyId, algorithm] = [parameters.get('keyid'), parameters.get('alg')]
  if (created === undefined) throw invalidSignature('created must be the time in seconds since 1970')
  if (parameters.has('expires') && expires === undefined) throw invalidSignature('expires must be a time in seconds')
  if (typeof keyId !== 'string') throw invalidSignature('keyid must be the id of an API key')
  return { keyId, signedAt: created, expiresAt: expires, kind: kindOf(algorithm) }
}

function kindOf(algorithm: unknown): ReceivedSignature['kind'] {
  if (algorithm === undefined) return undefined
  if (algorithm === 'hmac-sha256' || algorithm === 'rsa-v1_5-sha256') return kindOfAlgorithm[algorithm]
  throw invalidSignature('alg must be hmac-sha256 or rsa-v1_5-sha256')
}

const secondsOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
