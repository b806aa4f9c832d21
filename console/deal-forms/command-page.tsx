/** The page of one command on a deal: its form, or why the command is not possible now. */
import type { Command } from '../../deal-server/use-cases/define-use-case.ts'
import { type CommandOnDeal, commands, isOnDeal } from '../../deal-server/use-cases/index.ts'
import type { HttpRequest } from '../../shared/platform/http/request.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { PageResult } from '../frame/console.tsx'
import type { DealPage, DealVisit } from '../frame/deal-api.ts'
import { ErrorSummary } from '../frame/fields.tsx'
import { may } from '../frame/may.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import {
  CommandForm,
  fieldPartsOf,
  hiddenFields,
  isOnTask,
  type NamedChoice,
  pageTitleOf,
  Suggestions,
  shownFieldsOf,
} from './command-form.tsx'
import { Conflict } from './conflict.tsx'
import { type DealView, pathOfCommand, peopleOf, readDeal } from './deal-view.ts'
import { faultsOf } from './faults.ts'
import { Following, follower } from './following.tsx'
import { decodeForm, fieldsOf } from './form-fields.ts'
import { reasonsOf } from './reasons.ts'
import { commandHeaders, outcomeOf } from './send-command.ts'
import { initialValues, snapshotOf } from './snapshot.ts'

type DealCommand = Command<CommandOnDeal['verb']>

/** `/console/deals/:id/commands/:verb`. */
export const commandPage = (ids: IdSource): DealPage => ({
  methods: ['GET', 'POST'],
  path: '/console/deals/:id/commands/:verb',
  right: 'deal.read',
  render: async (visit) => {
    const command = commandOf(visit.request)
    return visit.request.method === 'POST' ? send(visit, command, ids) : open(visit, command, ids)
  },
})

/** @throws ProblemError `not-found` */
function commandOf({ pathParameters }: HttpRequest): DealCommand {
  const command = commands.filter(isOnDeal).find(({ verb }) => verb === pathParameters.verb)
  if (command) return command
  throw new ProblemError('not-found', 'There is no command of this name.')
}

const dealIdOf = ({ pathParameters }: HttpRequest): string => pathParameters.id ?? ''

async function open(visit: DealVisit, command: DealCommand, ids: IdSource): Promise<PageResult> {
  const id = dealIdOf(visit.request)
  // A deleted deal has one page, with the form.
  if (command.onDeleted) return { redirect: pathOfDeal(id) }
  const deal = await readDeal(visit.api, id)
  const taskId = visit.request.query.get('taskId') ?? undefined
  const values = initialValues(command, deal, taskId)
  return showForm(visit, { command, deal, values, commandId: ids.uuid() })
}

async function send(visit: DealVisit, command: DealCommand, ids: IdSource): Promise<PageResult> {
  const { api, form, request, caller } = visit
  const id = dealIdOf(request)
  // A form without a version is refused rather than run on what the reader has not seen.
  const ifMatch = command.onDeleted ? undefined : `"${form.get(hiddenFields.version) ?? 0}"`
  const sent = await api.call(`PUT /rest/v1/deals/:id/${command.verb}`, {
    path: { id },
    body: decodeForm(fieldsOf(command), form),
    headers: commandHeaders(form.get(hiddenFields.commandId) ?? ids.uuid(), ifMatch),
  })
  const reply = outcomeOf(sent)
  if (reply.ok) {
    const isGone = command.name === 'DeleteDeal' && !may(caller, 'deal.restore')
    const done = reply.isChanged ? command.verb : 'unchanged'
    return { redirect: `${isGone ? '/console/deals' : pathOfDeal(id)}?done=${encodeURIComponent(done)}` }
  }
  const deal = await readDeal(api, id)
  const commandId = (reply.isOpen ? form.get(hiddenFields.commandId) : undefined) ?? ids.uuid()
  return showForm(visit, { command, deal, values: form, commandId, faults: faultsOf(reply.problem) })
}

interface OpenForm {
  readonly command: DealCommand
  readonly deal: DealView
  readonly values: ReadonlyMap<string, string>
  readonly commandId: string
  readonly faults?: ProblemDocument
}

function showForm(visit: DealVisit, { command, deal, values, commandId, faults }: OpenForm): PageResult {
  const { reader, caller, form } = visit
  const title = pageTitleOf(command)
  const reason = reasonsOf(deal).get(command.name)
  const isConflict = faults?.status === 412
  const taskId = values.get('taskId') || undefined
  const parts = {
    command,
    values,
    faults: isConflict ? undefined : faults,
    currency: deal.currency,
    ...(isOnTask(command) && { tasks: taskChoices(deal, taskId) }),
  }
  const seen = form.get(hiddenFields.seen)
  return {
    title: `${title} · ${deal.name}`,
    status: faults?.status ?? 200,
    scripts: follower(caller),
    content: (
      <div class="form-page">
        <p class="crumb">
          <a href={pathOfDeal(deal.id)}>{deal.name}</a>
        </p>
        <h1>{title}</h1>
        <Following deal={deal} caller={caller} isForm />
        <ErrorSummary problem={faults} fields={fieldPartsOf(parts)} />
        {isConflict && (
          <Conflict
            command={command}
            form={form}
            seen={seen}
            deal={deal}
            reader={reader}
            seenVersion={form.get(hiddenFields.version)}
          />
        )}
        <div class="panel">
          {reason !== undefined && <p class="warning">{reason}</p>}
          {(reason === undefined || faults !== undefined) && (
            <>
              {command.words.hint !== undefined && <p>{command.words.hint}</p>}
              <CommandForm
                {...parts}
                action={pathOfCommand(deal.id, command.verb)}
                commandId={commandId}
                version={deal.version}
                seen={snapshotOf(deal, taskId)}
                {...(isConflict && { button: 'Do it all the same' })}
              />
            </>
          )}
          <p class="after">
            <a href={pathOfDeal(deal.id)}>Back to the deal</a>
          </p>
        </div>
        {shownFieldsOf(command).length > 0 && <Suggestions people={peopleOf(deal, caller.username)} />}
      </div>
    ),
  }
}

/** The open tasks of a deal to choose from, and the chosen task if it is open no more. */
const taskChoices = ({ tasks }: DealView, chosen: string | undefined): readonly NamedChoice[] =>
  tasks
    .filter(({ id, status }) => status === 'open' || id === chosen)
    .map(({ id, title, status }) => ({
      value: id,
      text: status === 'open' ? title : `${title} (not open any more)`,
    }))
