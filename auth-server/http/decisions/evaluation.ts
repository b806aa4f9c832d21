/**
 * Decisions by the OpenID AuthZEN Authorization API 1.0: may this user use this right of the service that asks? Rights
 * are global, so the resource decides nothing yet; a service names the one that it is about.
 */

import * as z from 'zod'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { jsonSchemaOf } from '../../../shared/platform/openapi/json-schema.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import {
  type BodyReader,
  component,
  defineCredentialEndpoint,
  type OwnCredential,
} from '../../../shared/server/endpoints/endpoint.ts'
import type { RecordInCatalogue } from '../../principals/principal-reader.ts'
import type { ServiceOf } from '../internal/service-of.ts'

/** Services that the endpoints use. */
export interface DecisionPorts {
  readonly serviceOf: ServiceOf
  /** The user of this name, and the catalogue; undefined when there never was such a user. @throws Unavailable */
  inCatalogue(username: string): Promise<RecordInCatalogue | undefined>
}

/** How many evaluations a request may have. The body of a caller who is not known yet is small. */
const maxEvaluations = 100

const name = z.string().min(1).max(200)
const properties = z.record(z.string(), z.unknown()).optional()
const subject = z.object({ type: name, id: name, properties })
const action = z.object({ name, properties })
const resource = z.object({ type: name, id: z.string().max(1_000), properties })
const context = z.record(z.string(), z.unknown())

/** AuthZEN 1.0 §6.1. Further members are ignored. */
const evaluationSchema = z.object({ subject, action, resource, context: context.optional() })

type Evaluation = z.infer<typeof evaluationSchema>

/** AuthZEN 1.0 §7.1. Members beside `evaluations` are the defaults of each evaluation. */
const evaluationsSchema = evaluationSchema.partial().extend({
  evaluations: z.array(evaluationSchema.partial()).max(maxEvaluations).optional(),
  options: z
    .object({
      evaluations_semantic: z
        .enum(['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'])
        .default('execute_all'),
    })
    .optional(),
})

const decisionSchema = z.object({
  decision: z.boolean(),
  context: z
    .object({ missingRight: z.string().optional(), reason: z.string().optional() })
    .optional()
    .meta({ description: 'Why the decision is `false`.' }),
})

type Decision = z.infer<typeof decisionSchema>

/** HTTP Basic with the id and the secret of a service, or its access token. */
const service = ({ serviceOf }: DecisionPorts) =>
  ({
    kind: 'service',
    find: async (request) => (await serviceOf(request)).service.resourceServer.id,
    problems: ['unauthenticated', 'several-credentials'],
    security: ['basic', 'bearer'],
  }) satisfies OwnCredential<string>

const ofDecisions = { method: 'POST', tag: 'services' } as const

/** Creates the endpoints of decisions. */
export const decisionEndpoints = (ports: DecisionPorts) => [
  defineCredentialEndpoint({
    ...ofDecisions,
    path: '/access/v1/evaluation',
    id: 'evaluateAccess',
    summary: 'Ask whether a user has a right',
    description:
      'AuthZEN 1.0 §6. The subject is a user (`type` is `user`, `id` the name), the action a right of the resource ' +
      'server of the service that asks. A right of another resource server is `false`.',
    caller: service(ports),
    body: authzenBody(evaluationSchema),
    success: { description: 'The decision.' },
    response: component('Decision', decisionSchema),
    handle: async ({ request, caller, body }) => ({
      body: await decide(ports, body, caller),
      headers: sentIdOf(request),
    }),
  }),
  defineCredentialEndpoint({
    ...ofDecisions,
    path: '/access/v1/evaluations',
    id: 'evaluateAccesses',
    summary: 'Ask several of these questions at once',
    description:
      `AuthZEN 1.0 §7, with at most ${maxEvaluations} evaluations. Members beside them are their defaults. Without ` +
      'evaluations the request is one of a single evaluation.',
    caller: service(ports),
    body: authzenBody(evaluationsSchema),
    success: { description: 'The decisions, in the order of the evaluations.' },
    response: component(
      'Decisions',
      z.object({ decision: z.boolean().optional(), evaluations: z.array(decisionSchema).optional() }),
    ),
    check: ({ body: { evaluations: several = [], options: _options, ...defaults } }) =>
      several.length === 0 ? [complete(defaults)] : several.map((one) => complete({ ...defaults, ...one })),
    handle: async ({ request, caller, body, checked }) => {
      const headers = sentIdOf(request)
      if (!body.evaluations?.length) {
        const [first] = checked
        return { body: first ? await decide(ports, first, caller) : { decision: false }, headers }
      }
      const decisions = await Promise.all(checked.map((one) => decide(ports, one, caller)))
      return { body: { evaluations: upTo(decisions, body.options?.evaluations_semantic) }, headers }
    },
  }),
]

/** The request identifier that the caller sent comes back (AuthZEN 1.0 §10.1.3). */
function sentIdOf(request: HttpRequest): { readonly 'x-request-id'?: string } {
  const sent = request.header('x-request-id')
  return sent !== undefined && /^[!-~]{1,200}$/.test(sent) ? { 'x-request-id': sent } : {}
}

/** @throws ProblemError `invalid-body` for an evaluation that lacks a member */
const complete = (partial: object): Evaluation => requireEvaluation(evaluationSchema, partial)

/** The decisions that the semantic wants (AuthZEN 1.0 §7.1.2.1): the first that settles it is the last. */
function upTo(decisions: readonly Decision[], semantic = 'execute_all'): Decision[] {
  const settles = semantic === 'permit_on_first_permit'
  const at = semantic === 'execute_all' ? -1 : decisions.findIndex(({ decision }) => decision === settles)
  return at === -1 ? [...decisions] : decisions.slice(0, at + 1)
}

async function decide(
  { inCatalogue }: DecisionPorts,
  { subject: { type, id }, action: { name: right } }: Evaluation,
  resourceServer: string,
): Promise<Decision> {
  if (type !== 'user') return { decision: false, context: { reason: 'The type of the subject must be user.' } }
  const decision = isAllowed(await inCatalogue(id), { right, resourceServer })
  return decision ? { decision } : { decision, context: { missingRight: right } }
}

/** True when the user is enabled and has this right of this resource server; one of another server counts as none. */
const isAllowed = (
  found: RecordInCatalogue | undefined,
  { right, resourceServer }: { readonly right: string; readonly resourceServer: string },
): boolean =>
  found?.record.enabled === true &&
  found.record.rights.includes(right) &&
  found.catalogue.rights.some((one) => one.name === right && one.resourceServer === resourceServer)

/** A JSON body of this schema. A wrong value is 400 too, as AuthZEN 1.0 §10.1.2 has it. */
const authzenBody = <Schema extends z.ZodType>(schema: Schema): BodyReader<z.output<Schema>, z.input<Schema>> => ({
  read: async (request) => {
    try {
      return await readBodyAs(request, schema)
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== 'invalid-value') throw error
      throw new ProblemError('invalid-body', error.message, { members: error.members })
    }
  },
  describe: () => ({ schema: jsonSchemaOf(schema), required: true }),
})

/** The value, if it has the form. @throws ProblemError `invalid-body` */
function requireEvaluation<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new ProblemError('invalid-body', 'An evaluation needs a subject, an action and a resource.')
}
