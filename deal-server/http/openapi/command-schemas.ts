/** The schemas of commands in requests: their parameters, and bodies that name a command. */
import type { JsonSchema } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { holdDeal } from '../../use-cases/hold-deal.ts'
import { commands } from '../../use-cases/index.ts'
import { uuid } from '../../use-cases/parameters.ts'
import { attributesSchema, requiredAttributes } from '../../use-cases/update-deal/attributes.ts'

const dealId: JsonSchema = { ...jsonSchemaOf(uuid), description: 'The id of the deal.' }
const repeatedId: JsonSchema = { ...dealId, description: 'The id of the deal in the path; it may be repeated here.' }

/** The name of the component schema for the parameters of a command. */
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

/** True when the command needs a body. */
export const needsBody = (command: Command): boolean => (parametersOf(command).required ?? []).length > 0

/** Parameters that a reader can send as they are: the required ones, each with its example. */
function exampleOf(command: Command): JsonSchema {
  const { properties, required = [] } = parametersOf(command)
  return Object.fromEntries(required.map((name) => [name, firstExample(properties[name])]))
}

/** The first example of a schema. For a schema that also allows null: of its other form. */
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

/** The arguments of a command controller: the parameters, and the id of the deal as `id` or `deal`. */
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

/** Style 5: the body names the deal; a creation needs no deal. */
export const globalCommandBody: JsonSchema = {
  ...actionBody({ deal: dealId }),
  anyOf: [{ required: ['deal'] }, { properties: { action: { enum: needsNoDeal } } }],
  examples: [{ deal: firstExample(dealId), ...actionExample }],
}

/** Style 6: the path names the deal. */
export const dealCommandBody: JsonSchema = {
  ...actionBody({ id: repeatedId, deal: repeatedId }),
  examples: [actionExample],
}

/**
 * Styles 3 and 4 on one path. Only style 3 has the member `action`, which is never an attribute
 * (docs/contract.md#styles).
 */
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

/** The component schemas of requests. */
export const commandSchemas = (): Record<string, JsonSchema> => ({
  Action: {
    description: 'A use case by its name, and its parameters.',
    oneOf: commands.map((c) => ref(actionName(c))),
  },
  ...Object.fromEntries(commands.map((command) => [actionName(command), action(command)])),
  ...Object.fromEntries(commands.map((command) => [parametersName(command), withRepeatedId(command)])),
  DealAttributes: {
    description:
      'The attributes of a deal, and the reasons and penalties of their changes. ' +
      'Members that the server sets are accepted and ignored.',
    ...jsonSchemaOf(attributesSchema),
    examples: [{ held: true, holdReason: 'test' }],
  },
})
