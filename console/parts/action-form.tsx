/** A form for one action on what a page shows, closed until the reader opens it. */
import type { Child } from 'hono/jsx'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { ErrorSummary, type FieldName } from '../frame/fields.tsx'

interface ActionFormProps {
  /** The value of the field `action`. */
  readonly name: string
  /** Where the form is sent. */
  readonly path: string
  readonly title: string
  readonly hint: string
  readonly button: string
  /** True for what takes something away. */
  readonly isDangerous?: boolean
  /** Of this form, when it was refused: it is open then. */
  readonly problem: ProblemDocument | undefined
  /** What errors lead to. */
  readonly fields?: readonly FieldName[]
  readonly children?: Child
}

/** The form. `children` are its fields. */
export function ActionForm({ problem, fields = [], isDangerous = false, children, ...parts }: ActionFormProps) {
  return (
    <details open={problem !== undefined} class="action">
      <summary>{parts.title}</summary>
      <ErrorSummary problem={problem} fields={fields} />
      <form method="post" action={parts.path} class="stack">
        <input type="hidden" name="action" value={parts.name} />
        <p class="hint">{parts.hint}</p>
        {children}
        <button type="submit" class={isDangerous ? 'danger' : 'quiet'}>
          {parts.button}
        </button>
      </form>
    </details>
  )
}
