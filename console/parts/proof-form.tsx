/** A panel with a form that needs the password alone, which a login of the last five minutes need not send. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { ErrorSummary, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'

interface ProofFormProps {
  /** Where the form is sent. */
  readonly path: string
  /** The value of the field `action`. */
  readonly of: string
  readonly title: string
  readonly intro: string
  readonly submit: string
  readonly isDangerous?: boolean
  readonly id?: string
  readonly problem: ProblemDocument | undefined
}

/** The panel. */
export function ProofForm({ of: form, path, title, intro, submit, isDangerous, id, problem }: ProofFormProps) {
  return (
    <section class="panel">
      <h2>{title}</h2>
      <p class="hint">{intro}</p>
      <ErrorSummary problem={problem} fields={[{ name: 'password', label: proofLabel, form }]} />
      <form method="post" action={path} class="stack">
        <input type="hidden" name="action" value={form} />
        {id !== undefined && <input type="hidden" name="id" value={id} />}
        <ProofField form={form} error={fieldErrors(problem).password} />
        <button type="submit" class={isDangerous ? 'danger' : undefined}>
          {submit}
        </button>
      </form>
    </section>
  )
}
