/** What the reader can do with a deal: a form for each command that is possible, and why the others are not. */

import type { Command } from '../../deal-server/use-cases/define-use-case.ts'
import { commands } from '../../deal-server/use-cases/index.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { CommandForm, isOnTask, pageTitleOf } from '../deal-forms/command-form.tsx'
import { type DealView, pathOfCommand } from '../deal-forms/deal-view.ts'
import { reasonsOf } from '../deal-forms/reasons.ts'
import { initialValues, snapshotOf } from '../deal-forms/snapshot.ts'

interface CommandsProps {
  readonly deal: DealView
  readonly ids: IdSource
}

/** The panel of all commands but those on tasks. */
export function Commands({ deal, ids }: CommandsProps) {
  const reasons = reasonsOf(deal)
  const onDeal = commands.filter(({ target, makes }) => target === 'deal' && makes === undefined).sort(byPlace)
  const possible = onDeal.filter((command) => !reasons.has(command.name) && !isOnTask(command))
  // That a deal is not deleted needs no words.
  const blocked = onDeal.filter(({ name, onDeleted }) => reasons.has(name) && !onDeleted)
  return (
    <section class="panel no-print" aria-labelledby="commands">
      <h2 id="commands">What you can do</h2>
      {possible.length === 0 && <p class="hint">You can change nothing here.</p>}
      {possible.map((command) => (
        <InlineCommand command={command} deal={deal} ids={ids} />
      ))}
      {blocked.length > 0 && (
        <details class="fold" id="blocked">
          <summary>Not possible now ({blocked.length})</summary>
          <dl>
            {blocked.map((command) => (
              <>
                <dt>{pageTitleOf(command)}</dt>
                <dd class="hint">{reasons.get(command.name)}</dd>
              </>
            ))}
          </dl>
        </details>
      )}
    </section>
  )
}

/** The order of the panel. A command that is not here is before those that end a deal. */
const order = [
  'HoldDeal',
  'UnholdDeal',
  'CompleteDeal',
  'ReopenDeal',
  'ChangePrice',
  'ChangeCompletionDate',
  'AssignOwner',
  'RenameDeal',
  'CancelDeal',
  'DeleteDeal',
]

const placeOf = ({ name }: Command): number =>
  order.includes(name) ? order.indexOf(name) : order.indexOf('CancelDeal') - 0.5

const byPlace = (a: Command, b: Command): number => placeOf(a) - placeOf(b)

interface InlineProps extends CommandsProps {
  readonly command: Command
}

/** The form of a command, folded. What it was refused for is shown on a page of its own. */
export function InlineCommand({ command, deal, ids }: InlineProps) {
  const { verb, words } = command
  const title = (deal.held ? words.titleOnHold : undefined) ?? words.title
  return (
    <details class="fold" id={`fold-${verb}`}>
      <summary>{title}</summary>
      {words.hint !== undefined && <p class="hint">{words.hint}</p>}
      <CommandForm
        command={command}
        values={initialValues(command, deal)}
        currency={deal.currency}
        form={verb}
        action={pathOfCommand(deal.id, verb)}
        commandId={ids.uuid()}
        version={deal.version}
        seen={snapshotOf(deal)}
        button={title}
      />
    </details>
  )
}
