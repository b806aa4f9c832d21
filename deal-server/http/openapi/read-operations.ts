/** How the operations that read are described. Each description stands beside its route. */
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { DescribedResponse, Operation } from '../../../shared/platform/http/operation.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'

interface Read extends Omit<Operation, 'responses' | 'problems' | 'headers'> {
  readonly success: DescribedResponse
  /** True where the answer has an entity tag. */
  readonly isTagged?: boolean
}

/** An operation that needs a caller and changes nothing. */
export function describeRead({ success, isTagged, ...operation }: Read): Operation {
  const problems = [...callerProblems, 'invalid-parameter', 'missing-right', 'not-found']
  if (!isTagged) return { ...operation, responses: { 200: success }, problems }
  const headers = [...(success.headers ?? []), 'ETag']
  return {
    ...operation,
    headers: ['IfMatch', 'IfNoneMatch'],
    responses: {
      200: { ...success, headers },
      304: { description: 'It is still what `If-None-Match` names.', headers },
    },
    problems: [...problems, 'precondition-failed'],
  }
}

type ReadList = Omit<Read, 'query'> & { readonly query?: NonNullable<Operation['query']> }

/** A read that is answered a page at a time; without `query` it has no parameters but the page's. */
export function describeList({ query = pageParameters, success, ...list }: ReadList): Operation {
  const described = describeRead({ ...list, query, success: { ...success, headers: ['Link'] } })
  return { ...described, problems: [...described.problems, 'invalid-cursor'] }
}
