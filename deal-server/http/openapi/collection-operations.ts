/** The operations of the two command collections. */

import type { JsonSchema, Operation } from '../../../shared/platform/http/operation.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { commands } from '../../use-cases/index.ts'
import { commandInput, commandProblems, outcomeHeaders } from './command-operations.ts'
import { dealCommandBody, globalCommandBody } from './command-schemas.ts'
import { idOfCommand, idOfDeal } from './path-parameters.ts'
import { describeList, describeRead } from './read-operations.ts'

const pathParameters = { id: idOfDeal, commandId: idOfCommand }
const globalTag = 'global-command-collection'
const perDealTag = 'per-deal-command-collection'

const describePut = (operation: Pick<Operation, 'id' | 'tag'>, schema: JsonSchema): Operation => ({
  ...operation,
  query: commandInput.query,
  headers: ['IdempotencyKey', 'IfMatch', 'IfNoneMatch'],
  summary: 'Send a command under an id of your own',
  description:
    'Sent again with the same content, it is answered as before and happens once. A refusal is a problem document.',
  pathParameters,
  body: { schema, required: true },
  answers: {
    201: {
      description: 'The command, which has succeeded.',
      schema: ref('SucceededCommand'),
      headers: [...outcomeHeaders, 'Location'],
    },
  },
  problems: commandProblems(commands),
})

const describeGet = (operation: Pick<Operation, 'id' | 'tag'>): Operation =>
  describeRead({
    ...operation,
    summary: 'Read what came of a command of your own',
    pathParameters,
    answer: { description: 'The command.', schema: ref('CommandResource') },
  })

/** The operations, by what they do. */
export const collectionOperations = {
  putGlobal: () => describePut({ id: 'putCommand', tag: globalTag }, globalCommandBody),
  getGlobal: () => describeGet({ id: 'getCommand', tag: globalTag }),
  putInDeal: () => describePut({ id: 'putDealCommand', tag: perDealTag }, dealCommandBody),
  getInDeal: () => describeGet({ id: 'getDealCommand', tag: perDealTag }),
  list: () =>
    describeList({
      id: 'listDealCommands',
      tag: perDealTag,
      summary: 'List the commands of a deal',
      pathParameters,
      answer: { description: 'Commands, the oldest first.', schema: ref('CommandPage') },
    }),
} as const
