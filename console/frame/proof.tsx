/** The password in forms that make lasting access. */

import { Field } from './fields.tsx'

/** What the field is called. */
export const proofLabel = 'Your password'

interface ProofFieldProps {
  readonly error?: string | undefined
  readonly form?: string
  /** When false, a login younger than five minutes does instead. */
  readonly isRequired?: boolean
}

/** The field `password`. */
export function ProofField({ error, form, isRequired = false }: ProofFieldProps) {
  const kind = 'password'
  return (
    <Field
      name={kind}
      kind={kind}
      label={proofLabel}
      error={error}
      isRequired={isRequired}
      {...(form !== undefined && { form })}
      {...(!isRequired && { hint: 'Needed when you signed in more than five minutes ago.' })}
      autocomplete="current-password"
    />
  )
}
