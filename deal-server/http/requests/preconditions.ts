import { tagsIn } from '../../../shared/platform/http/cacheable.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { invalidValue } from '../../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { possibleCommands } from '../../commands/allowed.ts'
import type { Deal } from '../../domain/deal.ts'
import { representDeal } from '../representations/represent-deal.ts'
import { etagOf } from '../representations/responses.ts'

/** The fields `If-Match` and `If-None-Match` as sent: `*`, or entity tags. */
export interface Preconditions {
  readonly ifMatch: '*' | readonly string[] | undefined
  readonly ifNoneMatch: '*' | readonly string[] | undefined
  /** True when a command without `ifMatch` is refused (REQUIRE_PRECONDITION). */
  readonly required?: boolean
}

/**
 * Reads the preconditions of a request. @throws ProblemError `invalid-parameter` unless a field is a list of entity
 * tags
 */
export const preconditionsOf = (request: HttpRequest): Preconditions => ({
  ifMatch: parseTags('If-Match', request.header('if-match')),
  ifNoneMatch: parseTags('If-None-Match', request.header('if-none-match')),
})

/**
 * Reads entity tags that are in the member `ifMatch` of a body. @throws ProblemError `invalid-value` unless it is a
 * list of entity tags
 */
export function ifMatchIn(text: string): Preconditions['ifMatch'] {
  if (text.trim() === '*' || listOfTags.test(text)) return parseTags('ifMatch', text)
  throw invalidValue([{ pointer: '/ifMatch', code: 'entity-tags', message: 'Expected * or a list of entity tags.' }])
}

/** True for a request with a precondition. */
export const isConditional = ({ ifMatch, ifNoneMatch }: Preconditions): boolean =>
  ifMatch !== undefined || ifNoneMatch !== undefined

/**
 * A weak tag counts as its strong form: proxies weaken tags when they compress. A list may have empty elements
 * (RFC 9110 §5.6.1.2).
 */
const tag = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"'
const listOfTags = new RegExp(`^[\\s,]*${tag}(?:\\s*,[\\s,]*${tag})*[\\s,]*$`)

function parseTags(field: string, value: string | undefined): '*' | string[] | undefined {
  if (value === undefined) return undefined
  if (value.trim() === '*') return '*'
  if (!listOfTags.test(value))
    throw new ProblemError('invalid-parameter', `${field} must be * or a list of entity tags.`)
  return tagsIn(value)
}

/**
 * Refuses a command whose precondition is false for the deal (RFC 9110 §13.1). The refusal shows the current deal. The
 * id of a deleted or purged deal is still taken.
 * @throws ProblemError `precondition-failed`, `precondition-required`
 */
export function requirePreconditions(
  deal: Deal | undefined,
  { ifMatch, ifNoneMatch, required }: Preconditions,
  isTaken: boolean,
): void {
  if (required && ifMatch === undefined) {
    const members = deal === undefined ? {} : { dealId: deal.id }
    const message = 'Send If-Match, or the version you have read as member version.'
    throw new ProblemError('precondition-required', message, { members })
  }
  const etag = deal === undefined ? undefined : etagOf(deal)
  if (matches(etag, ifMatch) === false) throw preconditionFailed('If-Match', deal)
  if (matches(etag, ifNoneMatch) === true || (isTaken && ifNoneMatch === '*'))
    throw preconditionFailed('If-None-Match', deal)
}

/**
 * True when the client already has the current representation, so that the response is 304. The refusal (412) shows
 * `deal`, if it is given.
 * @throws ProblemError `precondition-failed`
 */
export function isUnchanged(etag: string, { ifMatch, ifNoneMatch }: Preconditions, deal?: Deal): boolean {
  if (matches(etag, ifMatch) === false) throw preconditionFailed('If-Match', deal)
  return matches(etag, ifNoneMatch) === true
}

function matches(etag: string | undefined, tags: '*' | readonly string[] | undefined): boolean | undefined {
  if (tags === undefined) return undefined
  if (etag === undefined) return false
  return tags === '*' || tags.includes(etag)
}

function preconditionFailed(field: string, deal: Deal | undefined): ProblemError {
  const members =
    deal === undefined
      ? {}
      : {
          dealId: deal.id,
          current: representDeal(deal),
          allowed: possibleCommands(deal).map(({ name }) => name),
        }
  const headers = deal === undefined ? {} : { etag: etagOf(deal) }
  return new ProblemError('precondition-failed', `${field} does not hold for what is there now.`, { members, headers })
}
