import { Refused } from '../../shared/errors.ts'
import type { HttpCall } from '../../shared/http/call.ts'
import { uuid } from '../use-cases/parameters.ts'

/** The deal that `{id}` in the path names, in lower case. @throws Refused `not-found` for what cannot be a deal's id */
export function dealIdInPath(call: HttpCall): string {
  const parsed = uuid.safeParse(call.pathParameters.id)
  if (parsed.success) return parsed.data
  throw new Refused('not-found', 'There is no such deal: a deal id is a UUID.')
}

/**
 * The members of a body without the deal's id, which a client may repeat there.
 * @throws Refused `deal-mismatch` when it is not the path's; `invalid-body`
 */
export function withoutRepeatedId(body: unknown, dealId: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || !('id' in body)) return body
  const { id, ...rest } = body
  if (typeof id !== 'string') {
    const errors = [{ pointer: '/id', code: 'wrong-type', message: 'Expected a string.' }]
    throw new Refused('invalid-body', '/id: Expected a string.', { members: { errors } })
  }
  if (id.toLowerCase() === dealId) return rest
  throw new Refused('deal-mismatch', 'The id in the body is not the one in the path.')
}
