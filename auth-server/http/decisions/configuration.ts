/** /.well-known/authzen-configuration (AuthZEN 1.0 §9). */
import * as z from 'zod'
import { cacheableResponse } from '../../../shared/platform/http/cacheable.ts'
import { cacheable, component, definePublicEndpoint } from '../../../shared/server/endpoints/endpoint.ts'

const url = z.string().meta({ format: 'uri' })

/** The document of a server that clients see at this origin. */
export const authzenConfigurationEndpoint = (origin: string) =>
  definePublicEndpoint({
    path: '/.well-known/authzen-configuration',
    id: 'getAuthzenConfiguration',
    summary: 'Read where decisions are made',
    description: 'AuthZEN 1.0 §9.',
    tag: 'services',
    ...cacheable,
    success: { description: 'The document.', headers: ['ETag'] },
    response: component(
      'AuthzenConfiguration',
      z.object({
        policy_decision_point: url,
        access_evaluation_endpoint: url,
        access_evaluations_endpoint: url,
      }),
    ),
    handle: (request) =>
      cacheableResponse(request, {
        body: JSON.stringify({
          policy_decision_point: origin,
          access_evaluation_endpoint: `${origin}/access/v1/evaluation`,
          access_evaluations_endpoint: `${origin}/access/v1/evaluations`,
        }),
        contentType: 'application/json',
        cacheControl: 'public, max-age=3600',
      }),
  })
