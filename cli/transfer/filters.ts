import { Option } from 'commander'
import { dealListParameters } from '../../deal-server/http/requests/deal-lists.ts'
import { jsonSchemaOf } from '../../shared/platform/openapi/json-schema.ts'

/** Parameters that an export sets by itself. */
const ownParameters = ['limit', 'cursor', 'fields']

/** An option for each filter of the list of deals, and for its order. */
export function filterOptions(): Option[] {
  const properties = Object(jsonSchemaOf(dealListParameters).properties) as Record<string, Parameter>
  const filters = Object.entries(properties).filter(([name]) => !ownParameters.includes(name))
  return filters.map(([name, { enum: choices, description = '' }]) => {
    const texts = choices?.map(String)
    const option = new Option(
      `--${kebab(name)} <value>`,
      name === 'sort' ? 'the order; createdAt when left out' : description,
    )
    return texts && texts.length <= 4 ? option.choices(texts) : option
  })
}

interface Parameter {
  readonly description?: string
  readonly enum?: readonly unknown[]
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
