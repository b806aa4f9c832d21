/** Forms: fields with a label, a hint and the error at the field; and the list of all errors above the form. */
import type { Child } from 'hono/jsx'
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'

/** What leads to a field: its id is made of both names. */
export interface FieldName {
  readonly name: string
  readonly label: string
  /** Sets ids apart when a page has several forms with fields of one name. */
  readonly form?: string | undefined
}

/** A field of a form. */
export interface FieldProps extends FieldName {
  readonly kind?:
    | 'text'
    | 'textarea'
    | 'number'
    | 'date'
    | 'datetime-local'
    | 'password'
    | 'search'
    | 'select'
    | 'checkbox'
    | 'file'
  readonly value?: string | undefined
  readonly isRequired?: boolean
  readonly hint?: string | undefined
  readonly error?: string | undefined
  /** For `select`, in order. */
  readonly options?: readonly { readonly value: string; readonly text: string }[]
  readonly maxLength?: number | undefined
  readonly pattern?: string | undefined
  /** For `number`: the least step; amounts need `any`. */
  readonly step?: string | undefined
  readonly min?: string | undefined
  readonly max?: string | undefined
  readonly autocomplete?: string | undefined
  readonly list?: string | undefined
  /** For `file`: the endings of names, with commas between. */
  readonly accept?: string | undefined
  /** The keys of a phone: `decimal` for amounts, which are texts. */
  readonly inputMode?: 'decimal' | undefined
  readonly isAutofocused?: boolean
  /** Fields of a filter do not say that they are optional. */
  readonly isFilter?: boolean
}

const idOf = ({ form, name }: FieldName): string => (form ? `${form}-${name}` : name)

/** A labelled field. Required fields say so, the others are optional. */
export function Field(parts: FieldProps) {
  const { label, kind = 'text', isRequired = false, hint, error, isFilter = false } = parts
  const saysOptional = kind !== 'checkbox' && !isRequired && !isFilter
  const id = idOf(parts)
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  const control = <Control parts={parts} id={id} describedBy={described.length > 0 ? described.join(' ') : undefined} />
  const text = (
    <label for={id}>
      {label} {saysOptional && <span class="hint">(optional)</span>}
    </label>
  )
  return (
    <div class={error === undefined ? 'field' : 'field invalid'}>
      {kind === 'checkbox' ? (
        <span class="check">
          {control} {text}
        </span>
      ) : (
        text
      )}
      <Notes id={id} hint={hint} error={error} />
      {kind !== 'checkbox' && control}
    </div>
  )
}

interface NotesProps {
  readonly id: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
}

/** The hint and the error of a field or a group; `aria-describedby` names them. */
export const Notes = ({ id, hint, error }: NotesProps) => (
  <>
    {hint !== undefined && (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {error !== undefined && (
      <p class="error" id={`${id}-error`}>
        {error}
      </p>
    )}
  </>
)

interface ControlProps {
  readonly parts: FieldProps
  readonly id: string
  readonly describedBy: string | undefined
}

function Control({ parts, id, describedBy }: ControlProps) {
  const { name, kind = 'text', value = '', isRequired = false, error, maxLength, options = [] } = parts
  const common = {
    id,
    name,
    required: isRequired,
    'aria-describedby': describedBy,
    'aria-invalid': error === undefined ? undefined : ('true' as const),
    autofocus: parts.isAutofocused,
  }
  if (kind === 'textarea')
    return (
      <textarea {...common} rows={3} maxlength={maxLength}>
        {value}
      </textarea>
    )
  if (kind === 'select')
    return (
      <select {...common}>
        {options.map((option) => (
          <option value={option.value} selected={option.value === value}>
            {option.text}
          </option>
        ))}
      </select>
    )
  if (kind === 'checkbox') return <input {...common} type="checkbox" value="true" checked={value === 'true'} />
  const { pattern, step, min, max, autocomplete, list, accept, inputMode: inputmode } = parts
  // A password is never written into a page.
  const shown = kind === 'password' || kind === 'file' ? undefined : value
  const isPlain = kind === 'text' || kind === 'password'
  return (
    <input
      {...common}
      type={kind}
      value={shown}
      maxlength={maxLength}
      pattern={pattern}
      step={step}
      min={min}
      max={max}
      autocomplete={autocomplete}
      list={list}
      accept={accept}
      inputmode={inputmode}
      {...(isPlain && { autocapitalize: 'none', spellcheck: false })}
    />
  )
}

/** What is wrong with a form: a problem document, or what the page itself found. */
export interface FormFaults {
  readonly detail: string
  /** As in problem documents: `MemberError[]`. */
  readonly errors?: unknown
}

/** The errors of a refused form by the name of the field: `/newDate` is `newDate`. Several have a line each. */
export function fieldErrors(problem: FormFaults | undefined): Readonly<Record<string, string>> {
  const errors = (problem?.errors ?? []) as readonly MemberError[]
  const messagesAt = (place: string) => errors.flatMap(({ pointer, message }) => (pointer === place ? [message] : []))
  return Object.fromEntries(
    errors.map(({ pointer }) => [pointer.replace(/^\//, ''), [...new Set(messagesAt(pointer))].join('\n')]),
  )
}

interface SummaryProps {
  readonly problem: FormFaults | undefined
  /** The fields of the form. Errors of other members are in the summary alone. */
  readonly fields?: readonly FieldName[]
  readonly children?: Child
}

/** What is wrong, above a form: each error leads to its field. Screen readers read it at once. */
export function ErrorSummary({ problem, fields = [], children }: SummaryProps) {
  if (problem === undefined) return null
  const errors = Object.entries(fieldErrors(problem))
  return (
    <div class="summary" role="alert" tabindex={-1}>
      <h2>There is a problem</h2>
      {errors.length === 0 && <p>{problem.detail}</p>}
      {errors.length > 0 && (
        <ul>
          {errors.map(([name, message]) => {
            const field = fields.find((candidate) => candidate.name === name)
            return (
              <li>{field ? <a href={`#${idOf(field)}`}>{`${field.label}: ${message}`}</a> : `${name}: ${message}`}</li>
            )
          })}
        </ul>
      )}
      {children}
    </div>
  )
}
