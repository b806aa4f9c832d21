/** The form that removes something for ever, when the reader has typed its name. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { Field, fieldErrors } from '../frame/fields.tsx'
import { ActionForm } from '../parts/action-form.tsx'
import { formProblem } from '../parts/forms.ts'
import { ShownTag } from './shown-tag.tsx'

interface RemovalProps {
  readonly name: string
  /** Where the form is sent, with the action `delete`. */
  readonly path: string
  readonly texts: { readonly title: string; readonly hint: string }
  /** What the page shows, as the API gave it. */
  readonly shown: object
  readonly problem: ProblemDocument | undefined
}

/** The refusal of a form without the right name; undefined for a form that has it. */
export const removalProblem = (form: ReadonlyMap<string, string>, name: string) =>
  form.get('confirm') === name
    ? undefined
    : { ok: false as const, problem: formProblem({ confirm: 'This is not the name.' }) }

/** The form, closed until the reader opens it. */
export function RemovalForm({ name, path, texts, shown, problem }: RemovalProps) {
  const field = { name: 'confirm', label: `Type ${name} to confirm`, form: 'delete', isRequired: true }
  return (
    <ActionForm
      title={texts.title}
      hint={texts.hint}
      name="delete"
      path={path}
      button="Delete for ever"
      isDangerous
      problem={problem}
      fields={[field]}
    >
      <ShownTag of={shown} />
      <Field {...field} error={fieldErrors(problem).confirm} autocomplete="off" maxLength={100} />
    </ActionForm>
  )
}
