/** The password in forms that make a lasting credential. */
import { Field } from '../../../../shared/protocol/console/fields.tsx'
import { strings } from '../texts/account.ts'

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
      {...{ name: kind, kind, label, error, isRequired }}
      {...(form !== undefined && { form })}
      {...(!isRequired && { hint })}
      autocomplete="current-password"
    />
  )
}
