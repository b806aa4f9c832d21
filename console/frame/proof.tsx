/** The password in forms that make lasting access. */

import { strings } from '../texts/common.ts'
import { Field } from './fields.tsx'

/** What the field is called. */
export const proofLabel = strings.proof.label

interface ProofFieldParts {
  readonly error?: string | undefined
  readonly form?: string
  /** When false, a login younger than five minutes does instead. */
  readonly isRequired?: boolean
}

/** The field `password`. */
export function ProofField({ error, form, isRequired = false }: ProofFieldParts) {
  const { label, hint } = strings.proof
  const kind = 'password'
  return (
    <Field
      name={kind}
      kind={kind}
      label={label}
      error={error}
      isRequired={isRequired}
      {...(form !== undefined && { form })}
      {...(!isRequired && { hint })}
      autocomplete="current-password"
    />
  )
}
