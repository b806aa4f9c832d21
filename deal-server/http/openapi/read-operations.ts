/** Builds the descriptions of the operations that read. Each route has its description beside it. */
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { DescribedResponse, Operation } from '../../../shared/platform/http/operation.ts'

interface Read extends Omit<Operation, 'responses' | 'problems'> {
  readonly success: DescribedResponse
  /** True when the response has an entity tag. */
  readonly isTagged?: boolean
  /** Codes besides those of every read. */
  readonly further?: readonly string[]
}

/** Describes an operation that needs a caller and changes nothing: it is under the tag `reading` too. */
export function describeRead({ success, isTagged, further = [], ...read }: Read): Operation {
  const operation = { ...read, tags: [...read.tags, 'reading'] }
  const problems = ['invalid-parameter', 'missing-right', 'not-found', ...further]
  if (!isTagged) return { ...operation, responses: { 200: success }, problems }
  const headers = [...(success.headers ?? []), 'ETag']
  return {
    ...operation,
    headers: [...(operation.headers ?? []), 'IfMatch', 'IfNoneMatch'],
    responses: {
      200: { ...success, headers },
      304: { description: 'Unchanged: `If-None-Match` names the current version.', headers },
    },
    problems: [...problems, 'precondition-failed'],
  }
}

type ReadList = Omit<Read, 'query'> & { readonly query?: NonNullable<Operation['query']> }

/** Describes a list in pages. Without `query` it has only the parameters of pages. */
export function describeList({ query = pageParameters, success, ...list }: ReadList): Operation {
  const described = describeRead({
    ...list,
    query,
    success: { ...success, headers: ['Link', ...(success.headers ?? [])] },
  })
  return { ...described, problems: [...described.problems, 'invalid-cursor', 'outdated-cursor'] }
}
