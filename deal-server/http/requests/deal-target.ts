import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { checkValue } from '../../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { parseUuid, uuid } from '../../use-cases/parameters.ts'
import type { CommandInvocation } from './invocation.ts'

/** The deal id in the path, in lower case. @throws ProblemError `not-found` unless it is a UUID */
export function dealIdInPath(request: HttpRequest): string {
  return dealIdOf(request.pathParameters.id ?? '')
}

/**
 * The members of a body without `id`: clients may repeat the deal's id there.
 * @throws ProblemError `deal-mismatch` when it is another id than in the path; `invalid-body`
 */
export function withoutRepeatedId(body: unknown, dealId: string): unknown {
  const { id, rest } = takeMember(body, 'id')
  if (id === undefined) return body
  if (requireText(id, '/id').toLowerCase() === dealId) return rest
  throw new ProblemError('deal-mismatch', 'The id in the body is not the one in the path.')
}

/** A body without one member, and that member. */
function takeMember(body: unknown, name: string): { id: unknown; rest: unknown } {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || !Object.hasOwn(body, name)) {
    return { id: undefined, rest: body }
  }
  const { [name]: id, ...rest } = body as Record<string, unknown>
  return { id, rest }
}

function requireText(value: unknown, pointer: string): string {
  if (typeof value === 'string') return value
  const errors = [{ pointer, code: 'wrong-type', message: 'Expected a string.' }]
  throw new ProblemError('invalid-body', `${pointer}: Expected a string.`, { members: { errors } })
}

interface Enclosing {
  /** The place of the parameters in the whole body, as a JSON pointer. */
  readonly at: string
  /** The member `deal` beside the parameters; undefined when it is absent. */
  readonly deal: string | undefined
}

/**
 * The deal that a body names by `id` or `deal`, and the body without these members. A creation may omit the id.
 * `enclosing` is set when the body is only a part of the content, with the member `deal` beside it.
 * @throws ProblemError `deal-mismatch`, `invalid-body`, `invalid-value`, `not-found` unless the id is a UUID
 */
export function dealIdInBody(
  body: unknown,
  command: Command,
  enclosing?: Enclosing,
): { dealId: string | undefined; params: unknown } {
  const byId = takeMember(body, 'id')
  const byDeal = takeMember(byId.rest, 'deal')
  const at = enclosing?.at ?? ''
  const members = [
    [enclosing?.deal, '/deal'],
    [byId.id, `${at}/id`],
    [byDeal.id, `${at}/deal`],
  ] as const
  const named = members.filter(([value]) => value !== undefined)
  const names = named.map(([value, pointer]) => requireText(value, pointer))
  const [name] = names
  if (name === undefined) return { dealId: requireOptional(command, enclosing ? '/deal' : '/id'), params: byDeal.rest }
  if (names.some((other) => other.toLowerCase() !== name.toLowerCase()))
    throw new ProblemError('deal-mismatch', 'The request names different deals.')
  // The id of a new deal is checked like any other value.
  const dealId = command.target === 'deal' ? dealIdOf(name) : checkValue(uuid, name, { at: named[0]?.[1] ?? '' })
  return { dealId, params: byDeal.rest }
}

function requireOptional(command: Command, pointer: string): undefined {
  if (command.target === 'collection') return undefined
  const errors = [{ pointer, code: 'missing-member', message: 'This member is required.' }]
  throw new ProblemError('invalid-body', `${pointer}: This member is required.`, { members: { errors } })
}

/** @throws ProblemError `not-found` unless the text is a UUID */
function dealIdOf(text: string): string {
  const id = parseUuid(text)
  if (id !== undefined) return id
  throw new ProblemError('not-found', 'There is no such deal: a deal id is a UUID.')
}

/**
 * PUT must be repeatable (RFC 9110 §9.2.2): a command that would add something again needs a command id, or the id of
 * the new thing.
 * @throws ProblemError `invalid-body`
 */
export function requireRepeatable(request: HttpRequest, { bound, commandId }: CommandInvocation): void {
  const { makes } = bound
  if (request.method !== 'PUT' || makes === undefined || commandId !== undefined || makes in bound.params) return
  const message = `A PUT must be repeatable: send ${makes} or Idempotency-Key, or use POST.`
  const errors = [{ pointer: `${bound.at}/${makes}`, code: 'missing-member', message }]
  throw new ProblemError('invalid-body', message, { members: { errors } })
}
