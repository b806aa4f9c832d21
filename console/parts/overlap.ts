/** How long the former secret works beside a new one. */
import type { FieldProps } from '../frame/fields.tsx'
import { strings } from '../texts/account.ts'
import { fieldTextOf } from './forms.ts'

type Form = ReadonlyMap<string, string>

const options = Object.entries(strings.keys.overlaps).map(([value, text]) => ({ value, text }))

/** The field, with what was chosen; at first a day. */
export const overlapField = (form: Form): FieldProps => ({
  name: 'overlapSeconds',
  label: 'The former one works for',
  kind: 'select',
  options,
  isRequired: true,
  value: form.get('overlapSeconds') ?? '86400',
})

/** The choice in seconds; undefined for a form without the field. */
export function overlapIn(form: Form): number | undefined {
  const chosen = fieldTextOf(form, 'overlapSeconds')
  return chosen === undefined ? undefined : Number(chosen)
}
