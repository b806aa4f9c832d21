import { checkValue } from '../../../shared/platform/http/content/check-value.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { uuid } from '../../use-cases/parameters.ts'
import type { CommandInvocation } from './invocation.ts'

/** The deal that `{id}` in the path names, in lower case. @throws ProblemError `not-found` for what cannot be a deal's id */
export function dealIdInPath(request: HttpRequest): string {
  return dealIdOf(request.pathParameters.id ?? '')
}

/**
 * The members of a body without the deal's id, which a client may repeat there.
 * @throws ProblemError `deal-mismatch` when it is not the path's; `invalid-body`
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

interface NamedBeside {
  /** Where the body stands. */
  readonly at: string
  /** The deal that is named beside it, by `/deal`; undefined when it is not. */
  readonly deal: string | undefined
}

/**
 * The deal that a body names, by `id` or `deal`, and the body without it; for a creation it may be left out. A body may
 * also stand beside the name of its deal.
 * @throws ProblemError `deal-mismatch`, `invalid-body`, `invalid-value`, `not-found` for what cannot be a deal's id
 */
export function dealIdInBody(
  body: unknown,
  command: Command,
  beside?: NamedBeside,
): { dealId: string | undefined; params: unknown } {
  const byId = takeMember(body, 'id')
  const byDeal = takeMember(byId.rest, 'deal')
  const at = beside?.at ?? ''
  const members = [
    [beside?.deal, '/deal'],
    [byId.id, `${at}/id`],
    [byDeal.id, `${at}/deal`],
  ] as const
  const named = members.filter(([value]) => value !== undefined)
  const names = named.map(([value, pointer]) => requireText(value, pointer))
  const [name] = names
  if (name === undefined) return { dealId: requireOptional(command, beside ? '/deal' : '/id'), params: byDeal.rest }
  if (names.some((other) => other.toLowerCase() !== name.toLowerCase()))
    throw new ProblemError('deal-mismatch', 'The request names different deals.')
  // The id of a new deal is a value like any other.
  const dealId = command.target === 'deal' ? dealIdOf(name) : checkValue(uuid, name, { at: named[0]?.[1] ?? '' })
  return { dealId, params: byDeal.rest }
}

function requireOptional(command: Command, pointer: string): undefined {
  if (command.target === 'collection') return undefined
  const errors = [{ pointer, code: 'missing-member', message: 'This member is required.' }]
  throw new ProblemError('invalid-body', `${pointer}: This member is required.`, { members: { errors } })
}

/** @throws ProblemError `not-found` for what cannot be a deal's id */
function dealIdOf(text: string): string {
  const parsed = uuid.safeParse(text)
  if (parsed.success) return parsed.data
  throw new ProblemError('not-found', 'There is no such deal: a deal id is a UUID.')
}

/**
 * PUT must be repeatable (RFC 9110 §9.2.2): a command that would do its work again when sent again needs an id of its
 * own, or of what it makes.
 * @throws ProblemError `invalid-body`
 */
export function requireRepeatable(request: HttpRequest, { bound, commandId }: CommandInvocation): void {
  const { makes } = bound
  if (request.method !== 'PUT' || makes === undefined || commandId !== undefined || makes in bound.params) return
  const message = `A PUT must be repeatable: send ${makes} or Idempotency-Key, or use POST.`
  const errors = [{ pointer: `${bound.at}/${makes}`, code: 'missing-member', message }]
  throw new ProblemError('invalid-body', message, { members: { errors } })
}
