import type { z } from 'zod'
import { ProblemError } from './errors.ts'
import type { MemberError } from './problem-document.ts'

/** The place of a checked value. */
export interface CheckOptions {
  /** The place of the value in the body, as an RFC 6901 pointer: `/params`, or empty for the body itself. */
  readonly at?: string
}

type Issue = z.core.$ZodIssue

/**
 * True for issues about the shape: wrong type, unknown or missing members. All other issues concern values of the right
 * type.
 */
function isAboutShape(issue: Issue): boolean {
  if (isBeyondDoubles(issue)) return false
  if (issue.code === 'invalid_type') return !(typeof issue.input === 'number' && issue.expected === 'int')
  if (issue.code === 'invalid_value') return typeof issue.input !== typeof issue.values[0]
  return issue.code === 'unrecognized_keys' || issue.code === 'invalid_union'
}

/**
 * True for infinity. JSON has none: it comes from a number that is too large, such as `1e400`, which still is a number.
 */
const isBeyondDoubles = ({ input }: Issue): boolean =>
  input === Number.POSITIVE_INFINITY || input === Number.NEGATIVE_INFINITY

/**
 * Checks a parsed JSON value. Members of a wrong type, unknown and missing members are 400 `invalid-body`. Invalid
 * values of the right type are 422 `invalid-value`. In both cases, `errors` names each wrong member, up to a hundred.
 * @throws ProblemError
 */
export function checkValue<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { at = '' }: CheckOptions = {},
): z.output<Schema> {
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return result.data
  const { issues } = result.error
  const ofShape = issues.filter(isAboutShape)
  const errorsOf = (some: readonly Issue[]) => some.flatMap((issue) => memberErrors(issue, at)).slice(0, maxErrors)
  if (ofShape.length === 0) throw invalidValue(errorsOf(issues))
  const errors = errorsOf(ofShape)
  throw new ProblemError('invalid-body', sentence(errors), { members: { errors } })
}

/** More errors at once help no developer, and an answer must not be many times as long as its request. */
const maxErrors = 100

/** The refusal for invalid values of the right type. */
export const invalidValue = (errors: readonly MemberError[]): ProblemError<'invalid-value'> =>
  new ProblemError('invalid-value', sentence(errors), { members: { errors } })

const sentence = (errors: readonly MemberError[]): string =>
  errors.map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`)).join(' ')

/** The pointer of a member below `at` (RFC 6901 §3). */
export const pointerTo = (at: string, path: readonly PropertyKey[]): string =>
  at + path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

function memberErrors(issue: Issue, at: string): MemberError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, maxErrors).map((key) => ({
      pointer: pointerTo(at, [...issue.path, key]),
      code: 'unknown-member',
      message: 'This member is not known here.',
    }))
  }
  const { code, message } = describeIssue(issue)
  return [{ pointer: pointerTo(at, issue.path), code, message }]
}

/** Messages of the schema library have no full stop; most of ours have one. */
const asSentence = (message: string): string => (message.endsWith('.') ? message : `${message}.`)

function describeIssue(issue: Issue): { code: string; message: string } {
  if (isAboutShape(issue)) {
    // JSON has no undefined: an undefined value means a missing member.
    return issue.input === undefined
      ? { code: 'missing-member', message: 'This member is required.' }
      : { code: 'wrong-type', message: asSentence(issue.message) }
  }
  if (isBeyondDoubles(issue)) return { code: 'too-big', message: 'This number is too large.' }
  switch (issue.code) {
    case 'custom':
      return { code: String(issue.params?.code ?? 'invalid-value'), message: issue.message }
    case 'too_small':
      return { code: issue.origin === 'string' ? 'too-short' : 'too-small', message: asSentence(issue.message) }
    case 'too_big':
      return { code: issue.origin === 'string' ? 'too-long' : 'too-big', message: asSentence(issue.message) }
    default:
      return { code: issue.code.replaceAll('_', '-'), message: asSentence(issue.message) }
  }
}
