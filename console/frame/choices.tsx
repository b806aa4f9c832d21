/** Fields with several choices: checkboxes, of which each is a field of its own, and radio buttons. */
import type { Child } from 'hono/jsx'
import { Notes } from './fields.tsx'

interface Choice {
  readonly value: string
  readonly text: string
  readonly hint?: string
}

/** The choices of a table of texts, in its order. */
export const choicesOf = <Value extends string>(texts: Readonly<Record<Value, Omit<Choice, 'value'>>>) =>
  (Object.keys(texts) as Value[]).map((value) => ({ value, ...texts[value] }))

/** Choices under a title. */
export interface ChoiceGroup {
  readonly title: string
  readonly choices: readonly Choice[]
}

interface ChoicesProps {
  readonly name: string
  readonly legend: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
  /** Sets ids apart when a page has several forms with fields of one name. */
  readonly form?: string | undefined
  readonly children?: Child
}

const idOf = ({ form, name }: Pick<ChoicesProps, 'form' | 'name'>): string => (form ? `${form}-${name}` : name)

interface CheckboxesProps extends ChoicesProps {
  readonly chosen: Iterable<string>
  /** A group with an empty title shows none. */
  readonly groups: readonly ChoiceGroup[]
}

/**
 * Checkboxes, below other choices of the same name if there are `children`. Each is sent as the field `<name>.<value>`:
 * forms must not repeat a name.
 */
export function Checkboxes({ groups, chosen, children, ...parts }: CheckboxesProps) {
  const isChosen = new Set(chosen)
  const options = (choices: readonly Choice[]) => (
    <div class="options">
      {choices.map((choice) => (
        <Option
          id={`${idOf(parts)}.${choice.value}`}
          choice={choice}
          control={{ type: 'checkbox', name: `${parts.name}.${choice.value}`, value: 'true' }}
          isChosen={isChosen.has(choice.value)}
        />
      ))}
    </div>
  )
  return (
    <Choices {...parts}>
      {children}
      {groups.map(({ title, choices }, index) => {
        if (title === '') return options(choices)
        const id = `${idOf(parts)}-group-${index}`
        return (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset in a fieldset would draw a second border
          <div role="group" aria-labelledby={id} class="group">
            <p id={id} class="hint">
              {title}
            </p>
            {options(choices)}
          </div>
        )
      })}
    </Choices>
  )
}

/** All values of checkboxes of this name that were sent. */
export const allChosen = (form: ReadonlyMap<string, string>, name: string): string[] =>
  [...form].flatMap(([field, value]) => {
    const isChosen = field.startsWith(`${name}.`) && value === 'true'
    return isChosen ? [field.slice(name.length + 1)] : []
  })

/** The values of these checkboxes that were sent, in the order of the choices. */
export const chosenOf = <Value extends string>(
  form: ReadonlyMap<string, string>,
  name: string,
  choices: readonly { readonly value: Value }[],
): Value[] => choices.map(({ value }) => value).filter((value) => form.get(`${name}.${value}`) === 'true')

interface RadiosProps extends ChoicesProps {
  readonly choices: readonly Choice[]
  readonly chosen: string
}

/** Radio buttons. */
export function Radios({ choices, chosen, ...parts }: RadiosProps) {
  return (
    <Choices {...parts}>
      <div class="options">
        {choices.map((choice) => (
          <Option
            id={`${idOf(parts)}.${choice.value}`}
            choice={choice}
            control={{ type: 'radio', name: parts.name, value: choice.value }}
            isChosen={chosen === choice.value}
          />
        ))}
      </div>
    </Choices>
  )
}

/** The error leads here: `id` is that of a field of this name. */
function Choices({ legend, hint, error, children, ...parts }: ChoicesProps) {
  const id = idOf(parts)
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return (
    <fieldset
      id={id}
      tabindex={-1}
      class={error === undefined ? 'choices' : 'choices invalid'}
      aria-describedby={described.length > 0 ? described.join(' ') : undefined}
    >
      <legend>{legend}</legend>
      <Notes id={id} hint={hint} error={error} />
      {children}
    </fieldset>
  )
}

interface OptionProps {
  readonly id: string
  readonly choice: Choice
  readonly control: { readonly type: 'checkbox' | 'radio'; readonly name: string; readonly value: string }
  readonly isChosen: boolean
}

function Option({ id, choice: { text, hint }, control, isChosen }: OptionProps) {
  return (
    <div class="check">
      <input id={id} {...control} checked={isChosen} aria-describedby={hint === undefined ? undefined : `${id}-hint`} />
      <div>
        <label for={id}>{text}</label>
        <Notes id={id} hint={hint} />
      </div>
    </div>
  )
}
