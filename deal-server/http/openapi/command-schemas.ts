/** The schemas of commands in requests: their parameters, and bodies that name a command. */

import type { z } from 'zod'
import { ndjson } from '../../../shared/platform/http/content/json-items.ts'
import type { DescribedBody, JsonSchema } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { createDeal } from '../../use-cases/create-deal.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { holdDeal } from '../../use-cases/hold-deal.ts'
import { commands } from '../../use-cases/index.ts'
import { uuid } from '../../use-cases/parameters.ts'
import { attributesSchema, requiredAttributes } from '../../use-cases/update-deal/attributes.ts'
import { idOfCommand } from './parameters.ts'

const dealId: JsonSchema = { ...jsonSchemaOf(uuid), description: 'The id of the deal.' }
const repeatedId: JsonSchema = { ...dealId, description: 'The id of the deal in the path; it may be repeated here.' }

/** The name of the component schema for the parameters of a command. */
export const parametersName = ({ name }: Command): string => `${name}Parameters`

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

/** The same with the id of what the command makes: a PUT needs it. */
export function repeatableExampleOf(command: Command): JsonSchema {
  const { makes = '' } = command
  return { [makes]: firstExample(parametersOf(command).properties[makes]), ...exampleOf(command) }
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

/**
 * The arguments of a command controller: the parameters, and the id of the deal as `id` or `deal`, or as both. Each
 * form is a whole schema, because generators of clients ignore an `anyOf` of `required` alone.
 */
export function controllerArguments(command: Command): JsonSchema {
  const { properties, required = [], ...schema } = parametersOf(command)
  const withId = (...ids: readonly string[]) => ({
    ...schema,
    properties: { id: dealId, deal: dealId, ...properties },
    required: [...ids, ...required],
  })
  const example = exampleOf(command)
  if (command.target === 'collection') return { ...withId(), examples: [example] }
  const forms = ['id', 'deal'].map((id) => ({ title: `${command.name} by ${id}`, ...withId(id) }))
  return { anyOf: forms, examples: [{ id: firstExample(dealId), ...example }] }
}

/** The arguments of a tool: the parameters, `id` for the deal, and the options of a call. */
export function toolArguments(command: Command, options: z.ZodType): JsonSchema {
  const { properties, required = [], ...schema } = parametersOf(command)
  const ofDeal = command.target === 'deal' ? { id: dealId } : {}
  return {
    ...schema,
    properties: { ...ofDeal, ...properties, ...Object(jsonSchemaOf(options).properties) },
    required: [...Object.keys(ofDeal), ...required],
  }
}

/** A kind of body `{action, params}`, with the members that may name the deal beside them. */
interface ActionBody {
  /** The name of the union of all use cases, and the end of the name of each branch. */
  readonly name: string
  readonly description: string
  readonly members: Readonly<Record<string, JsonSchema>>
  /** The members without which the use case has no deal. */
  requiredMembers(command: Command): readonly string[]
}

const needsNoMember = (): readonly string[] => []

const actionBodies: readonly ActionBody[] = [
  {
    name: 'Update',
    description: 'Style 3: a use case by its name, on the deal in the path.',
    members: { id: repeatedId },
    requiredMembers: needsNoMember,
  },
  {
    name: 'Command',
    description: 'Style 6: a command on the deal in the path.',
    members: { id: repeatedId, deal: repeatedId },
    requiredMembers: needsNoMember,
  },
  {
    name: 'GlobalCommand',
    description: 'Style 5: a command, and the deal that it is for.',
    members: { deal: dealId },
    requiredMembers: ({ target }) => (target === 'collection' ? [] : ['deal']),
  },
  {
    name: 'BatchCommand',
    description: 'A command of a batch: the body of style 5, with the id of the command.',
    members: {
      id: { ...idOfCommand, description: 'May be left out when the request has `Idempotency-Key`.' },
      deal: dealId,
      ifMatch: { type: 'string', description: 'Entity tags, in place of the field `If-Match`.', examples: ['"1"'] },
    },
    requiredMembers: ({ target }) => (target === 'collection' ? [] : ['deal']),
  },
]

const branchOf = (command: Command, { name, members, requiredMembers }: ActionBody): [string, JsonSchema] => [
  `${command.name}${name}`,
  {
    title: command.name,
    description: command.summary,
    type: 'object',
    required: ['action', 'params', ...requiredMembers(command)],
    properties: { action: { const: command.name }, params: ref(parametersName(command)), ...members },
    additionalProperties: false,
  },
]

/** One branch for each use case. Without the mapping, generators take the names of the branches for actions. */
const unionOf = ({ name, description }: ActionBody): JsonSchema => ({
  description,
  oneOf: commands.map((command) => ref(`${command.name}${name}`)),
  discriminator: {
    propertyName: 'action',
    mapping: Object.fromEntries(commands.map((command) => [command.name, ref(`${command.name}${name}`).$ref])),
  },
})

/** Style 5: the body names the deal; a creation needs no deal. */
export const globalCommandBody: DescribedBody = {
  schema: ref('GlobalCommand'),
  required: true,
  example: { deal: firstExample(dealId), ...actionExample },
}

const batchExample: readonly JsonSchema[] = [
  { id: 'create-1', action: createDeal.name, params: { id: firstExample(dealId), name: 'deal123', price: 1234 } },
  { id: 'hold-1', deal: firstExample(dealId), ...actionExample },
]

/** A batch: commands in an array, or each in a line. */
export const commandBatchBody: DescribedBody = {
  schema: { type: 'array', minItems: 1, maxItems: 1000, items: ref('BatchCommand') },
  required: true,
  example: batchExample,
  alternatives: {
    [ndjson]: { type: 'string', examples: [batchExample.map((line) => JSON.stringify(line)).join('\n')] },
  },
}

/** Style 6: the path names the deal. */
export const dealCommandBody: DescribedBody = { schema: ref('Command'), required: true, example: actionExample }

/**
 * Styles 3 and 4 on one path. Only style 3 has the member `action`, which is never an attribute
 * (docs/contract/deals.md#styles).
 */
export const dealUpdateBody: DescribedBody = {
  schema: { oneOf: [ref('Update'), ref('WholeDeal')] },
  required: true,
  example: actionExample,
}

const attributes = jsonSchemaOf(attributesSchema)

/** The component schemas of requests. */
export const commandSchemas = (): Record<string, JsonSchema> => ({
  ...Object.fromEntries(actionBodies.map((body) => [body.name, unionOf(body)])),
  ...Object.fromEntries(actionBodies.flatMap((body) => commands.map((command) => branchOf(command, body)))),
  ...Object.fromEntries(commands.map((command) => [parametersName(command), withRepeatedId(command)])),
  DealAttributes: {
    description:
      'The attributes of a deal, and the reasons and penalties of their changes. ' +
      'Members that the server sets are accepted and ignored.',
    ...attributes,
    examples: [{ held: true, holdReason: 'test' }],
  },
  WholeDeal: {
    description: 'Style 4: the deal as it should become. Other absent members are unchanged.',
    ...attributes,
    required: requiredAttributes,
    examples: [{ name: 'deal123', price: 1234, held: false }],
  },
})
