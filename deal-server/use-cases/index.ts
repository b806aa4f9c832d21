/** All commands of the deal server. Queries are in `queries/queries.ts`. */
import type { DeclaredRight } from '../../shared/protocol/internal-api/declared-rights.ts'
import { ownWidth } from '../domain/own-deals.ts'
import { addTask } from './add-task.ts'
import { assignOwner } from './assign-owner.ts'
import { assignTask } from './assign-task.ts'
import { cancelDeal } from './cancel-deal.ts'
import { changeCompletionDate } from './change-completion-date.ts'
import { changePrice } from './change-price.ts'
import { completeDeal } from './complete-deal.ts'
import { completeTask } from './complete-task.ts'
import { createDeal } from './create-deal.ts'
import type { Command } from './define-use-case.ts'
import { deleteDeal } from './delete-deal.ts'
import { holdDeal } from './hold-deal.ts'
import { renameDeal } from './rename-deal.ts'
import { reopenDeal } from './reopen-deal.ts'
import { restoreDeal } from './restore-deal.ts'
import { unassignTask } from './unassign-task.ts'
import { unholdDeal } from './unhold-deal.ts'

const onDeals = [
  deleteDeal,
  restoreDeal,
  renameDeal,
  changePrice,
  changeCompletionDate,
  holdDeal,
  unholdDeal,
  completeDeal,
  cancelDeal,
  reopenDeal,
  assignOwner,
  addTask,
  assignTask,
  unassignTask,
  completeTask,
]

/** A definition of a command on an existing deal, with the types of its verb and its parameters. */
export type CommandOnDeal = (typeof onDeals)[number]

/** Every style and the documentation serve the commands in this list. */
export const commands: readonly Command[] = [createDeal, ...onDeals]

/** The rights that commands need, in both widths, each once. */
export const rightsOfCommands: readonly DeclaredRight[] = [
  ...new Map(commands.map(({ declaredRight: right }) => [right.name, right])).values(),
].flatMap(({ name, description, own }) => [
  { name, description, readsOnly: false },
  { name: ownWidth(name), description: own, readsOnly: false },
])

/** True for a command on an existing deal. */
export const isOnDeal = (command: Command): command is Command<CommandOnDeal['verb']> => command.target === 'deal'

const byName: ReadonlyMap<string, Command> = new Map(commands.map((command) => [command.name, command]))

/** The names of all commands, in order. */
export const commandNames: readonly string[] = [...byName.keys()]

/** The command of this name. Requests may append `UseCase` to a name; responses never do. */
export const commandNamed = (name: string): Command | undefined =>
  byName.get(name) ?? byName.get(name.replace(/UseCase$/, ''))
