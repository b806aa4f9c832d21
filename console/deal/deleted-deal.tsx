/** The page of a deleted deal, for readers who may restore it. */

import { commands } from '../../deal-server/use-cases/index.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { CommandForm } from '../deal-forms/command-form.tsx'
import { pathOfCommand } from '../deal-forms/deal-view.ts'
import { type ApiRefusal, RefusedCall } from '../frame/api.ts'
import type { PageResult } from '../frame/console.tsx'
import { Notice, Time } from '../frame/content.tsx'
import type { DealVisit } from '../frame/deal-api.ts'
import { may } from '../frame/may.ts'
import { commandDoneText } from './done-text.ts'
import { type EventView, History } from './history.tsx'

interface DeletedProps {
  readonly visit: DealVisit
  /** The refusal to show the deal. Only readers who may restore it learn that it is deleted. */
  readonly refusal: ApiRefusal
  readonly events: readonly EventView[]
  readonly ids: IdSource
}

/** The page. @throws RefusedCall for a deal that is not there, or of which the reader may know nothing */
export function deletedDealPage({ visit, refusal, events, ids }: DeletedProps): PageResult {
  const { deletedAt, purgeAt } = refusal.problem
  if (typeof deletedAt !== 'string' || typeof purgeAt !== 'string') throw new RefusedCall(refusal)
  const { reader, request, caller } = visit
  const id = request.pathParameters.id ?? ''
  const restoring = commands.filter(({ onDeleted, right }) => onDeleted && may(caller, right))
  const name = nameIn(events)
  return {
    title: name,
    content: (
      <div id="deal">
        <Notice>{commandDoneText(request.query.get('done'))}</Notice>
        <p class="crumb">
          <a href="/console/deals">All deals</a>
        </p>
        <div class="head titled">
          <h1>{name}</h1>
          <span class="badge bad">deleted</span>
        </div>
        <section class="panel">
          <p>
            This deal is deleted. Readers have not seen it since <Time time={deletedAt} reader={reader} />
            {'. '}
            It is removed for good on <Time time={purgeAt} reader={reader} />.
          </p>
          {restoring.map((command) => (
            <>
              <p class="hint">{command.words.hint}</p>
              <CommandForm command={command} action={pathOfCommand(id, command.verb)} commandId={ids.uuid()} />
            </>
          ))}
        </section>
        {events.length > 0 && (
          <section class="panel" aria-labelledby="history">
            <h2 id="history">History</h2>
            <History events={events} tasks={[]} reader={reader} />
          </section>
        )}
      </div>
    ),
  }
}

/** The name that the deal had, if the events tell. */
function nameIn(events: readonly EventView[]): string {
  const names = events.flatMap(({ type, data }) =>
    type === 'deal.created' ? [data.name] : type === 'deal.renamed' ? [data.new] : [],
  )
  const last = names.at(-1)
  return typeof last === 'string' ? last : 'Deleted deal'
}
