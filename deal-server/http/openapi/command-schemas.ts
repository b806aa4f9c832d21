/** What commands are sent as: their parameters, and bodies that name one. */

import type { JsonSchema } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { holdDeal } from '../../use-cases/hold-deal.ts'
import { commands } from '../../use-cases/index.ts'
import { uuid } from '../../use-cases/parameters.ts'
import { attributesSchema, requiredAttributes } from '../../use-cases/update-deal/attributes.ts'

const dealId: JsonSchema = { ...jsonSchemaOf(uuid), description: 'The id of the deal.' }
const repeatedId: JsonSchema = { ...dealId, description: 'The id of the deal in the path, if it is to be repeated.' }

/** The name of the component schema of a command's parameters. */
export const parametersName = ({ name }: Command): string => `${name}Parameters`
const actionName = ({ name }: Command): string => `${name}Action`

interface ObjectSchema extends JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

function parametersOf({ params }: Command): ObjectSchema {
  const schema = jsonSchemaOf(params)
  return { ...schema, properties: { ...(schema.properties as ObjectSchema['properties']) } }
}

/** True when a body cannot be left out. */
export const needsBody = (command: Command): boolean => (parametersOf(command).required ?? []).length > 0

/** What can be sent as it is: the parameters that cannot be left out, each as the example of its kind. */
function exampleOf(command: Command): JsonSchema {
  const { properties, required = [] } = parametersOf(command)
  return Object.fromEntries(required.map((name) => [name, firstExample(properties[name])]))
}

/** Of a schema or, where null is allowed too, of what else is. */
function firstExample(schema: JsonSchema | undefined): unknown {
  const { examples, anyOf } = { ...schema } as { examples?: readonly unknown[]; anyOf?: readonly JsonSchema[] }
  return examples ? examples[0] : anyOf && firstExample(anyOf[0])
}

const actionExample: JsonSchema = { action: holdDeal.name, params: exampleOf(holdDeal) }

function withRepeatedId(command: Command): JsonSchema {
  const { properties, ...schema } = parametersOf(command)
  return {
    ...schema,
    properties: { ...properties, id: properties.id ?? repeatedId },
    examples: [exampleOf(command)],
  }
}

/** The arguments of a command controller: the parameters, and the deal by `id` or `deal`. */
export function controllerArguments(command: Command): JsonSchema {
  const { properties, ...schema } = parametersOf(command)
  const named = { ...schema, properties: { id: dealId, deal: dealId, ...properties } }
  const example = exampleOf(command)
  if (command.target === 'collection') return { ...named, examples: [example] }
  return {
    ...named,
    anyOf: [{ required: ['id'] }, { required: ['deal'] }],
    examples: [{ id: firstExample(dealId), ...example }],
  }
}

const action = (command: Command): JsonSchema => ({
  title: command.name,
  description: command.summary,
  type: 'object',
  required: ['action', 'params'],
  properties: { action: { const: command.name }, params: ref(parametersName(command)) },
})

/** A body `{action, params}`, with members that name the deal. */
const actionBody = (members: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  required: ['action', 'params', ...required],
  properties: { action: { type: 'string' }, params: { type: 'object' }, ...members },
  additionalProperties: false,
  allOf: [ref('Action')],
})

const needsNoDeal = commands.filter(({ target }) => target === 'collection').map(({ name }) => name)

/** Style 5: the deal stands in the body, but for a deal that is to be made. */
export const globalCommandBody: JsonSchema = {
  ...actionBody({ deal: dealId }),
  anyOf: [{ required: ['deal'] }, { properties: { action: { enum: needsNoDeal } } }],
  examples: [{ deal: firstExample(dealId), ...actionExample }],
}

/** Style 6. */
export const dealCommandBody: JsonSchema = {
  ...actionBody({ id: repeatedId, deal: repeatedId }),
  examples: [actionExample],
}

/** Styles 3 and 4 on one path: told apart by the member `action`, which is never an attribute (deal model 3.4). */
export const dealUpdateBody: JsonSchema = {
  oneOf: [
    { title: 'Single update', ...actionBody({ id: repeatedId }) },
    {
      title: 'Attribute update',
      allOf: [ref('DealAttributes')],
      required: requiredAttributes,
      not: { required: ['action'] },
    },
  ],
  examples: [actionExample],
}

/** The component schemas of what is sent. */
export const commandSchemas = (): Record<string, JsonSchema> => ({
  Action: {
    description: 'A use case by its name, and its parameters.',
    oneOf: commands.map((c) => ref(actionName(c))),
  },
  ...Object.fromEntries(commands.map((command) => [actionName(command), action(command)])),
  ...Object.fromEntries(commands.map((command) => [parametersName(command), withRepeatedId(command)])),
  DealAttributes: {
    description:
      'The attributes of a deal, and the reasons and penalties of their changes. What the server keeps is accepted and ignored.',
    ...jsonSchemaOf(attributesSchema),
    examples: [{ held: true, holdReason: 'test' }],
  },
})
