/** The form above a list that finds less of it. */
import type { Child } from 'hono/jsx'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { ErrorSummary, Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'

interface SearchFormProps {
  /** The path of the list. */
  readonly path: string
  readonly fields: readonly FieldProps[]
  readonly query: URLSearchParams
  readonly problem: ProblemDocument | undefined
  readonly submit: string
  readonly class?: string
  readonly children?: Child
}

/** A form by GET: what is found is in the URL. */
export function SearchForm({ path, fields, query, problem, submit, children, ...parts }: SearchFormProps) {
  const errors = fieldErrors(problem)
  return (
    <>
      <ErrorSummary problem={problem} fields={fields} />
      <form method="get" action={path} class={parts.class ?? 'filters'}>
        {children}
        {fields.map((field) => (
          <Field {...field} isFilter value={query.get(field.name) ?? ''} error={errors[field.name]} />
        ))}
        <p class="actions">
          <button type="submit" class="quiet">
            {submit}
          </button>
        </p>
      </form>
    </>
  )
}
