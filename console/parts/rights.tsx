/** Rights in words, in groups. */

import { commands } from '../../deal-server/use-cases/index.ts'
import { allChosen, Checkboxes, type ChoiceGroup, choicesOf, Radios } from '../frame/choices.tsx'
import { type Column, Facts, Table } from '../frame/content.tsx'
import { strings } from '../texts/account.ts'

type Group = keyof typeof strings.rightGroups

const groups = Object.keys(strings.rightGroups) as readonly Group[]

const own = ':own'

function groupOf(right: string): Group {
  if (right.endsWith(own)) return right.startsWith('deal.') ? 'ownDeals' : 'others'
  if (/\.read(-any)?$/.test(right) && /^(deal|task)\./.test(right)) return 'reading'
  if (/^(deal\.)?task\./.test(right)) return 'tasks'
  if (/^(deal|proposal)\./.test(right)) return 'deals'
  return Object.hasOwn(strings.rights, right) ? 'administration' : 'others'
}

const words: ReadonlyMap<string, string> = new Map([
  ...Object.entries(strings.rights),
  ...commands.map(({ declaredRight: { name, description } }): [string, string] => [name, description]),
])

/** The right in words, in either width; a right of another service by its name. */
export function inWords(right: string): string {
  const wider = right.startsWith('deal.') && right.endsWith(own) ? right.slice(0, -own.length) : right
  return words.get(wider) ?? right
}

/** The groups that are not empty, each with its rights. */
const grouped = (rights: Iterable<string>): { readonly group: Group; readonly rights: readonly string[] }[] => {
  const all = [...rights]
  return groups
    .map((group) => ({ group, rights: all.filter((right) => groupOf(right) === group) }))
    .filter((part) => part.rights.length > 0)
}

/** The rights as a list for each group. */
export function RightsInWords({ rights }: { readonly rights: Iterable<string> }) {
  return (
    <Facts
      facts={grouped(rights).map((part) => [strings.rightGroups[part.group], part.rights.map(inWords).join(', ')])}
    />
  )
}

/** The rights as groups of checkboxes. */
const rightChoices = (rights: Iterable<string>): ChoiceGroup[] =>
  grouped(rights).map((part) => ({
    title: strings.rightGroups[part.group],
    choices: part.rights.map((right) => ({ value: right, text: inWords(right) })),
  }))

interface RightsFieldsProps {
  readonly legend: string
  /** The rights to choose from. */
  readonly offered: Iterable<string>
  readonly chosen: Iterable<string>
  readonly hint?: string
  readonly error?: string | undefined
}

/** How far a right reaches, by the value of its field: not at all, own deals, every deal. */
const widths = { '': 'none', own: 'own', true: 'all' } as const

/** A table of the rights with two widths, sent as `rights.<right>`, then checkboxes of the others. */
export function RightsFields({ offered, chosen, ...parts }: RightsFieldsProps) {
  const [all, given] = [new Set(offered), new Set(chosen)]
  const wider = [...all].filter((right) => right.endsWith(own)).map((right) => right.slice(0, -own.length))
  const inBoth = new Set(wider)
  const others = [...all].filter((right) => !inBoth.has(right) && !right.endsWith(own))
  const column = (value: keyof typeof widths): Column<string> => {
    const title = strings.widths[widths[value]]
    const rightOf = (right: string) => (value === 'own' ? right + own : right)
    return {
      title,
      isShort: true,
      cell: (right) => {
        const width = given.has(right) ? 'true' : given.has(right + own) ? 'own' : ''
        if (value !== '' && !all.has(rightOf(right))) return '–'
        const label = `${inWords(right)}: ${title}`
        return (
          <input type="radio" name={`rights.${right}`} value={value} checked={width === value} aria-label={label} />
        )
      },
    }
  }
  const columns = [{ title: 'Right', cell: inWords }, column(''), column('own'), column('true')]
  return (
    <Checkboxes name="rights" {...parts} chosen={given} groups={rightChoices(others)}>
      {wider.length > 0 && <Table caption={parts.legend} columns={columns} rows={[...inBoth]} />}
    </Checkboxes>
  )
}

interface ReachProps extends Pick<RightsFieldsProps, 'legend' | 'offered' | 'chosen'> {
  readonly texts: Readonly<Record<'chosen' | 'all', { readonly text: string; readonly hint: string }>>
  readonly isAll: boolean
  readonly errors: Readonly<Record<string, string>>
}

/** All rights of somebody, or only those that are chosen. */
export function ReachFields({ legend, texts, isAll, chosen, offered, errors }: ReachProps) {
  return (
    <>
      <Radios
        name="reach"
        legend={legend}
        choices={choicesOf(texts)}
        chosen={isAll ? 'all' : 'chosen'}
        error={errors.reach}
      />
      <div class="only-chosen">
        <RightsFields legend="Rights" offered={offered} chosen={chosen} error={errors.rights} />
      </div>
    </>
  )
}

/** True for a form in which all rights were chosen. */
export const hasAllRights = (form: ReadonlyMap<string, string>): boolean => form.get('reach') === 'all'

/** The rights that were chosen, each in its width. */
export const chosenRights = (form: ReadonlyMap<string, string>): string[] => [
  ...allChosen(form, 'rights'),
  ...[...form].filter(([, value]) => value === 'own').flatMap(([name]) => ownRightOf(name)),
]

const ownRightOf = (field: string): string[] =>
  field.startsWith('rights.') ? [field.slice('rights.'.length) + own] : []
