/** The form of a command, made from its definition. */

import type { Command } from '../../deal-server/use-cases/define-use-case.ts'
import { commandNamed } from '../../deal-server/use-cases/index.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { Field, type FieldProps, fieldErrors } from '../frame/fields.tsx'
import { choices, hints, labels } from '../texts/deal.ts'
import { type FormField, fieldsOf } from './form-fields.ts'

/** The names of the fields that carry the form itself. No parameter begins with `_`. */
export const hiddenFields = { commandId: '_command', version: '_version', seen: '_seen' } as const

/** A choice whose text differs from its value. */
export interface NamedChoice {
  readonly value: string
  readonly text: string
}

interface FormContext {
  /** Where the form is sent to. */
  readonly action: string
  /** An id of this form: however often it is sent, the command runs once. */
  readonly commandId: string
  /** The version of the deal that the reader sees, and its facts as `snapshotOf` wrote them. */
  readonly version?: number
  readonly seen?: string
  /** The currency of amounts, when it is known. */
  readonly currency?: string
  /** For the parameter `taskId`. */
  readonly tasks?: readonly NamedChoice[]
  /** Sets fields apart on a page with several forms. */
  readonly form?: string
}

interface CommandFormProps extends FormContext {
  readonly command: Command
  /** Field → its text. */
  readonly values?: ReadonlyMap<string, string> | undefined
  readonly faults?: ProblemDocument | undefined
  readonly button?: string
}

/** The title of a page for the command alone. */
export const pageTitleOf = ({ words }: Command): string => words.pageTitle ?? words.title

/** The title of the use case of this name: `Hold the deal`. A name of another release stays as it is. */
export function titleOfUseCase(name: string): string {
  const command = commandNamed(name)
  return command ? pageTitleOf(command) : name === 'UpdateDeal' ? 'Change the deal' : name
}

/** What a parameter is called. */
export const labelOf = (useCase: string, name: string): string =>
  labels[`${useCase}.${name}`] ?? labels[name] ?? inWords(name)

/** The ids of the lists of suggestions, which occur once on a page: `Suggestions`. */
const suggestionLists = { people: 'people', currencies: 'currencies' } as const

/** Parameter → the list of its suggestions. */
const suggestions: Readonly<Record<string, string | undefined>> = {
  ownerId: suggestionLists.people,
  employeeId: suggestionLists.people,
  assigneeId: suggestionLists.people,
  currency: suggestionLists.currencies,
}

/** The fields that a reader fills in: ids of what the command makes are chosen without the reader. */
export function shownFieldsOf(command: Command): readonly FormField[] {
  const isChosen = ({ name }: FormField) => name === command.makes || (command.target === 'collection' && name === 'id')
  return fieldsOf(command).filter((field) => !isChosen(field))
}

/** True for a command on a task of the deal: the task's page names it. */
export const isOnTask = (command: Command): boolean =>
  fieldsOf(command).some(({ name, isRequired }) => name === 'taskId' && isRequired)

/** The form. */
export function CommandForm(parts: CommandFormProps) {
  const { command, action, commandId, version, seen, button } = parts
  const fields = fieldPartsOf(parts)
  return (
    <form method="post" action={action} class="stack command">
      <input type="hidden" name={hiddenFields.commandId} value={commandId} />
      {version !== undefined && <input type="hidden" name={hiddenFields.version} value={String(version)} />}
      {seen !== undefined && <input type="hidden" name={hiddenFields.seen} value={seen} />}
      {fields.map((field) => (
        <Field {...field} />
      ))}
      <button type="submit" class={command.name === 'DeleteDeal' ? 'danger' : undefined}>
        {button ?? command.words.title}
      </button>
    </form>
  )
}

/** The fields of a form as they are shown. */
export function fieldPartsOf({
  command,
  values,
  faults,
  currency,
  tasks,
  form,
}: Pick<CommandFormProps, 'command' | 'values' | 'faults' | 'currency' | 'tasks' | 'form'>): readonly FieldProps[] {
  const errors = fieldErrors(faults)
  return shownFieldsOf(command).map((field): FieldProps => {
    const { name, kind } = field
    const label = labelOf(command.name, name)
    return {
      name,
      form,
      value: values?.get(name) ?? '',
      error: errors[name],
      hint: hintOf(field),
      label: kind === 'amount' && currency !== undefined ? `${label} (${currency})` : label,
      isRequired: field.isRequired && !field.isNullable && kind !== 'list',
      ...controlOf(field, tasks),
    }
  })
}

function controlOf(field: FormField, tasks: readonly NamedChoice[] | undefined): Partial<FieldProps> {
  const { name, kind, isRequired } = field
  if (name === 'taskId' && tasks) return { kind: 'select', options: [{ value: '', text: 'Choose a task' }, ...tasks] }
  switch (kind) {
    case 'multiline':
    case 'list':
    case 'json':
      return { kind: 'textarea' }
    case 'amount':
      return { inputMode: 'decimal', autocomplete: 'off' }
    case 'integer':
      return { kind: 'number', step: '1' }
    case 'number':
      return { kind: 'number', step: 'any' }
    case 'date':
      return { kind: 'date', min: '2000-01-01', max: '2199-12-31' }
    case 'boolean':
      return isRequired && !field.isNullable ? { kind: 'checkbox' } : { kind: 'select', options: yesOrNo }
    case 'choice':
      return { kind: 'select', options: choicesOf(field) }
    default:
      return { autocomplete: 'off', list: suggestions[name] }
  }
}

const noChoice: NamedChoice = { value: '', text: 'No choice' }
const yesOrNo: readonly NamedChoice[] = [noChoice, { value: 'true', text: 'Yes' }, { value: 'false', text: 'No' }]

/** An optional choice that is left out is the first one, when all choices have texts that say so. */
function choicesOf({ name, choices: values, isRequired, isNullable }: FormField): readonly NamedChoice[] {
  const named = values.map((value) => ({ value, text: choices[`${name}.${value}`] ?? value }))
  return isRequired && !isNullable ? named : [noChoice, ...named]
}

/** `whyChanged` is `Why changed`. */
function inWords(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function hintOf({ name, kind, description, maxLength }: FormField): string | undefined {
  const known = hints[name]
  if (known !== undefined) return known === '' ? undefined : known
  const ofKind = kind === 'list' ? 'One a line.' : kind === 'json' ? 'As JSON.' : undefined
  const ofLength = maxLength === undefined ? undefined : `Up to ${String(maxLength)} characters.`
  const found = [description ?? ofLength, ofKind].filter((part) => part !== undefined).join(' ')
  return found === '' ? undefined : found
}

/** The lists of suggestions of all forms of a page. */
export function Suggestions({
  people = [],
  currencies = [],
}: {
  readonly people?: readonly string[]
  readonly currencies?: readonly string[]
}) {
  return (
    <>
      <SuggestionList id={suggestionLists.people} values={people} />
      <SuggestionList id={suggestionLists.currencies} values={currencies} />
    </>
  )
}

function SuggestionList({ id, values }: { readonly id: string; readonly values: readonly string[] }) {
  if (values.length === 0) return null
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option value={value} />
      ))}
    </datalist>
  )
}
