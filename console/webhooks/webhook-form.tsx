/** The form of a webhook, for a new one and for changes. */

import { dealEventTypes } from '../../deal-server/use-cases/apply-events.ts'
import { Checkboxes, chosenOf } from '../frame/choices.tsx'
import { Field, type FormFaults, fieldErrors } from '../frame/fields.tsx'
import { ProofField, proofLabel } from '../frame/proof.tsx'

interface WebhookEntries {
  readonly url: string
  readonly description: string
  readonly types: readonly string[]
}

const typeChoices = dealEventTypes.map((type) => ({ value: type, text: type }))

/** The entries of a form that was sent: types are fields `type.<name>`. */
export const entriesIn = (form: ReadonlyMap<string, string>) => ({
  url: (form.get('url') ?? '').trim(),
  description: (form.get('description') ?? '').trim(),
  types: chosenOf(form, 'type', typeChoices),
})

/** The password of a form, which the API takes as proof. */
export const passwordIn = (form: ReadonlyMap<string, string>) => form.get('password') || undefined

/** The body for the API. */
export const bodyOf = ({ url, description, types }: ReturnType<typeof entriesIn>) => ({
  url,
  description: description === '' ? null : description,
  types,
})

/** The fields that errors lead to. */
export const webhookFields = [
  { name: 'url', label: 'URL' },
  { name: 'description', label: 'Description' },
  { name: 'password', label: proofLabel },
] as const

interface FormProps {
  readonly action: string
  readonly entries: WebhookEntries
  readonly problem: FormFaults | undefined
  readonly submit: string
}

/** The form. */
export function WebhookForm({ action, entries, problem, submit }: FormProps) {
  const errors = fieldErrors(problem)
  const [url, description] = webhookFields
  return (
    <form method="post" action={action} class="panel stack">
      <Field
        {...url}
        value={entries.url}
        isRequired
        hint="It begins with https:// and has no user name."
        error={errors.url}
        maxLength={2048}
      />
      <Field
        {...description}
        value={entries.description}
        hint="What the webhook is for."
        maxLength={200}
        error={errors.description}
      />
      <Checkboxes
        name="type"
        legend="Types of events"
        hint="All types when none is chosen."
        chosen={entries.types}
        groups={[{ title: '', choices: typeChoices }]}
        error={errors.types}
      />
      <ProofField error={errors.password} />
      <button type="submit">{submit}</button>
    </form>
  )
}
