/**
 * Batches: `POST /commands` takes many commands, each as in style 5 with its id, and answers with the outcome of each,
 * in the order of the commands, as it comes (docs/contract/deals.md#batches).
 */

import * as z from 'zod'
import { runInOrder } from '../../../shared/platform/concurrency/in-order.ts'
import { preferredType } from '../../../shared/platform/http/content/accept.ts'
import {
  type JsonItems,
  ndjson,
  ndjsonTypes,
  type ReadItem,
  readJsonItems,
} from '../../../shared/platform/http/content/json-items.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { writeInTime } from '../../../shared/platform/http/stream.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { checkValue, invalidValue } from '../../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { ProposedCommand, ShownCommand } from '../../commands/command-context.ts'
import { quoteOddAmounts } from '../../domain/money.ts'
import { commandBatchBody } from '../openapi/command-schemas.ts'
import { representSucceeded } from '../representations/command-resource.ts'
import type { DescribeFailure } from '../representations/line-problems.ts'
import { representProposed } from '../representations/represent-proposal.ts'
import { etagOf, privateHeaders } from '../representations/responses.ts'
import { commandIdPattern, commandOptionsOf, commandParameters, prefersMinimal } from '../requests/command-options.ts'
import { dealIdInBody } from '../requests/deal-target.ts'
import type { BatchInvocation, BoundInvocation, CommandOptions, RunLine, StyleRoute } from '../requests/invocation.ts'
import { ifMatchIn } from '../requests/preconditions.ts'
import { globalSchema } from './command-collections.ts'
import { commandOfAction } from './single-update.ts'

/** The parts that batches use. */
export interface BatchOptions {
  readonly describeFailure: DescribeFailure
}

const maxCommands = 1000
const maxBodyBytes = 4 * 1024 * 1024
const maxLineBytes = 64 * 1024
const maxArrayBytes = 256 * 1024
/** Commands of one batch that may run, or whose outcomes may wait for the client. */
const maxAhead = 64
/** A client that takes nothing for this time is disconnected, in milliseconds. */
const stallMs = 30_000

const operation: Operation = {
  id: 'sendCommands',
  summary: 'Send many commands at once',
  description: `Up to 1,000 commands, each with an id of its own: in lines (NDJSON), or in an array of at most 256 KiB.
The response has the outcome of each, in the order of the commands, as it comes. Commands on one deal run in their order, others side by
side. A refused command does not hold up the others. The same batch sent again gets the same outcomes, and no command
runs twice. \`Idempotency-Key\` gives the commands without an id the ids \`<key>.1\`, \`<key>.2\` and so on.
\`If-Match\`, \`If-None-Match\`, \`Prefer\` and \`validateOnly\` hold for each command.`,
  tags: ['command-batch'],
  query: commandParameters,
  headers: ['IdempotencyKey', 'IfMatch', 'IfNoneMatch', 'Prefer'],
  body: commandBatchBody,
  responses: {
    200: {
      description: 'The outcome of each command, in an array or each in a line.',
      schema: { type: 'array', items: ref('CommandOutcome') },
      alternatives: [ndjson],
      headers: ['Deal-Validated-Only', 'Preference-Applied'],
    },
  },
  problems: ['batch-too-large', 'body-too-large', 'too-many-batches', 'unsupported-media-type', 'signature-used'],
}

/** The route of batches. */
export const commandBatchRoutes = ({ describeFailure }: BatchOptions): StyleRoute[] => [
  {
    style: 'command-batch',
    methods: ['POST'],
    path: '/commands',
    maxBodyBytes,
    readsBodyLate: true,
    describe: () => [operation],
    decode: (request) => decodeBatch(request, describeFailure),
  },
]

const tooLarge = () =>
  new ProblemError('batch-too-large', `A batch has at most ${maxCommands} commands. None of these was carried out.`)

async function decodeBatch(request: HttpRequest, describeFailure: DescribeFailure): Promise<BatchInvocation> {
  const options = commandOptionsOf(request)
  requireRoomForNumbers(options.commandId)
  const found = await readJsonItems(request, {
    maxItems: maxCommands,
    maxLineBytes,
    maxArrayBytes,
    onTooMany: tooLarge,
    amend: quoteOddAmounts,
  })
  if (found.items.length === 0) throw new ProblemError('invalid-body', 'The batch has no command.')
  const isMinimal = prefersMinimal(request)
  const form = formOf(request, found.form)
  return {
    kind: 'batch',
    answer: (runLine) => ({
      status: 200,
      headers: {
        'content-type': form.contentType,
        ...privateHeaders,
        // Otherwise nginx holds outcomes back until its buffer is full.
        'x-accel-buffering': 'no',
        ...(isMinimal ? { 'preference-applied': 'return=minimal' } : {}),
      },
      endsByItself: true,
      body: async (stream) => {
        const work = createLineWork({ options, isMinimal, runLine, describeFailure })
        let separator = form.begin
        await runInOrder(found.items.entries(), {
          maxAhead,
          prepare: ([index, read]) => work(index + 1, read),
          take: async (outcome) => {
            const text = separator + JSON.stringify(outcome) + form.afterEach
            separator = form.between
            await writeInTime(stream, text, stallMs)
          },
          stopped: stream.ended,
        })
        stream.write(form.end)
      },
    }),
  }
}

const lineForm = { contentType: ndjson, begin: '', between: '', afterEach: '\n', end: '' }
const arrayForm = { contentType: 'application/json', begin: '[', between: ',\n', afterEach: '', end: ']' }

/** The form that `Accept` names, else that of the request. */
function formOf(request: HttpRequest, own: JsonItems['form']): typeof lineForm {
  const array = 'application/json'
  const offered = own === 'lines' ? ([ndjson, ...ndjsonTypes, array] as const) : ([array, ...ndjsonTypes] as const)
  return preferredType(request.header('accept'), offered) === array ? arrayForm : lineForm
}

const longestKey = 128 - `.${maxCommands}`.length

function requireRoomForNumbers(key: string | undefined): void {
  if (key === undefined || key.length <= longestKey) return
  throw new ProblemError('invalid-parameter', `Idempotency-Key of a batch has at most ${longestKey} characters.`)
}

const lineSchema = globalSchema.extend({ id: z.string().optional(), ifMatch: z.string().optional() })

/** The outcome of a command, as its line in the response has it. */
type Outcome = Readonly<Record<string, unknown>>

interface LineWorkParts {
  readonly options: CommandOptions
  readonly isMinimal: boolean
  readonly runLine: RunLine
  readonly describeFailure: DescribeFailure
}

/** Makes the work for each line. `line` is the number of the command, from 1. */
function createLineWork({ options, isMinimal, runLine, describeFailure }: LineWorkParts) {
  /** At most `maxCommands`. */
  const ids = new Set<string>()
  return (line: number, read: ReadItem): { key: string | undefined; run(): Promise<Outcome> } => {
    let id: string | undefined
    const refused = (error: unknown): Outcome => {
      const { problem, retryAfter } = describeFailure(error, runLine.requestId)
      const { status } = problem
      return { line, id, status, problem, ...(retryAfter === undefined ? {} : { retryAfter }) }
    }
    try {
      const invocation = runLine.decode(() => {
        const body = read()
        id = idOf(body, options.commandId === undefined ? undefined : `${options.commandId}.${line}`)
        requireNew(ids, id)
        return decodeLine(body, id, options)
      })
      const run = async () => {
        try {
          return { line, id, ...success(invocation, await runLine.execute(invocation), isMinimal) }
        } catch (error) {
          return refused(error)
        }
      }
      return { key: invocation.dealId, run }
    } catch (error) {
      return { key: undefined, run: async () => refused(error) }
    }
  }
}

/** The id of a command, before the rest of it is checked. @throws ProblemError `invalid-body`, `invalid-value` */
function idOf(body: unknown, numbered: string | undefined): string {
  const { id = numbered } = checkValue(z.looseObject({ id: z.string().optional() }), body)
  if (id === undefined) {
    const message = 'This member is required, unless the request has Idempotency-Key.'
    const errors = [{ pointer: '/id', code: 'missing-member', message }]
    throw new ProblemError('invalid-body', `/id: ${message}`, { members: { errors } })
  }
  if (commandIdPattern.test(id)) return id
  const message = 'A command id has 1 to 128 of A-Z, a-z, 0-9, ".", "_", "~" and "-".'
  throw invalidValue([{ pointer: '/id', code: 'invalid-format', message }])
}

/** @throws ProblemError `repeated-command-id` */
function requireNew(ids: Set<string>, id: string): void {
  if (ids.has(id)) {
    throw new ProblemError('repeated-command-id', 'An earlier command of this batch has this id.', {
      members: { commandId: id },
    })
  }
  ids.add(id)
}

/** A command of a batch always has an id. */
type LineInvocation = BoundInvocation & { readonly commandId: string }

function decodeLine(body: unknown, commandId: string, options: CommandOptions): LineInvocation {
  const { deal, action, params, ifMatch } = checkValue(lineSchema, body)
  const command = commandOfAction(action)
  const target = dealIdInBody(params, command, { at: '/params', deal })
  const { preconditions } = options
  return {
    bound: command.bind(target.params, '/params'),
    dealId: target.dealId,
    ...options,
    commandId,
    preconditions: ifMatch === undefined ? preconditions : { ...preconditions, ifMatch: ifMatchIn(ifMatch) },
  }
}

function success({ commandId }: LineInvocation, command: ShownCommand | ProposedCommand, isMinimal: boolean): Outcome {
  if ('proposal' in command) return { status: 202, ...representProposed(command) }
  const { deal, changed, replayed, shown, record } = command
  if (isMinimal) return { status: 201, deal: deal.id, etag: etagOf(deal), replayed, changed }
  const resource = representSucceeded({ commandId, ...record }, { deal, changed, events: shown?.events })
  return { status: 201, replayed, command: resource }
}
