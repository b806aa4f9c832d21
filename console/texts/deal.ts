/** All texts of the pages of one deal, and of the forms of commands. Those of its history are in `events.ts`. */
export const dealTexts = {
  newDeal: 'New deal',
  back: 'Back to the deal',
  toDeals: 'All deals',
  facts: 'Facts',
  state: 'State',
  states: { open: 'open', held: 'on hold', completed: 'completed', cancelled: 'cancelled' },
  stateOf: (state: string, ways: string) => `The deal is ${state}. ${ways}`,
  waysOn: (states: string) => `From here it can become ${states}.`,
  waysBack: 'It can be reopened.',
  heldBy: (by: string) => `On hold by ${by} since`,
  deletedState: 'deleted',
  deletedDeal: 'Deleted deal',
  deleted: 'This deal is deleted. Readers have not seen it since',
  purgedAt: 'It is removed for good on',
  price: 'Price',
  description: 'Description',
  completionDate: 'Completion date',
  completionDateReason: 'Reason of the last change of the date',
  completionDatePenalty: 'Penalty of that change',
  priceReason: 'Reason of the last change of the price',
  owner: 'Owner',
  holdReason: 'Reason of the hold',
  holdReasonCode: 'Code of the reason',
  cancelReason: 'Reason of the cancellation',
  cancelPenalty: 'Penalty of the cancellation',
  cancelledAt: 'Cancelled',
  completedOn: 'Completed on',
  finalPrice: 'Final price',
  documentNumber: 'Document number',
  comment: 'Comment',
  penaltyTotal: 'Penalties in all',
  created: 'Created',
  updated: 'Last change',
  version: 'Version',
  by: 'by',
  name: 'Name',
  ofOwner: (owner: string) => `All deals of ${owner}`,
  asJson: 'This deal as JSON',
  tasks: 'Tasks',
  taskCount: (open: string, all: string) => `${open} open of ${all}`,
  noTasks: 'This deal has no tasks.',
  task: 'Task',
  assignee: 'Assignee',
  nobody: 'nobody',
  dueDate: 'Due',
  taskStatus: 'State',
  taskStatuses: { open: 'open', done: 'done', dropped: 'dropped' },
  taskActions: 'Actions',
  result: 'Result',
  morePages: 'Pages of tasks',
  page: (page: number) => `Page ${page}`,
  historyTitle: 'History',
  historyPages: 'Pages of the history',
  noHistory: (right: string) => `You need the right ${right} to read the history.`,
  commands: 'What you can do',
  noCommands: 'You can change nothing here.',
  blocked: (count: number) => `Not possible now (${count})`,
  missingRight: (right: string) => `You need the right ${right}.`,
  withoutEffect: 'It would change nothing now.',
  notNow: 'This is not possible now.',
  unchanged: 'Nothing was changed: the deal is as you want it already.',
  doneOther: (summary: string) => `Done: ${summary}.`,
  chooseTask: 'Choose a task',
  noChoice: 'No choice',
  notOpen: 'not open any more',
  oneALine: 'One a line.',
  asJsonText: 'As JSON.',
  upTo: (length: string) => `Up to ${length} characters.`,
  changedBy: 'This deal was changed by # while you look at it.',
  changedBySomebody: 'This deal was changed while you look at it.',
  refreshed: 'Changed by #. The page shows the new state.',
  showNow: 'Show the new state',
  conflict: 'Somebody changed the deal after you opened this form. Nothing was done.',
  conflictTitle: 'What has changed',
  conflictIntro: (seen: string, now: string) => `You saw version ${seen}; now it is version ${now}.`,
  conflictOther: 'None of the facts that this form shows are different.',
  fact: 'Fact',
  seen: 'When you opened the form',
  now: 'Now',
  wanted: 'You want',
  isChanged: 'changed',
  sendOnNow: 'Do it all the same',
  openTasksOf: (open: string, all: string) => `${open} open, ${all} in all`,
} as const

/** The texts of a use case: its name in lists, the words of its button, the notice after it. */
interface CommandTexts {
  readonly title: string
  readonly done: string
}

/** Use-case name → texts, in the order of the page of a deal. A use case that is not here has its summary. */
export const commandTexts: Readonly<Record<string, CommandTexts | undefined>> = {
  CreateDeal: { title: 'Create the deal', done: 'The deal is created.' },
  RestoreDeal: { title: 'Restore', done: 'The deal is restored.' },
  HoldDeal: { title: 'Hold', done: 'The deal is on hold.' },
  UnholdDeal: { title: 'End the hold', done: 'The deal is no longer on hold.' },
  CompleteDeal: { title: 'Complete', done: 'The deal is completed.' },
  ReopenDeal: { title: 'Reopen', done: 'The deal is open again.' },
  ChangePrice: { title: 'Change the price', done: 'The price is changed.' },
  ChangeCompletionDate: { title: 'Change the completion date', done: 'The completion date is changed.' },
  AssignOwner: { title: 'Assign the owner', done: 'The deal has its new owner.' },
  RenameDeal: { title: 'Rename', done: 'The deal has its new name.' },
  AddTask: { title: 'Add a task', done: 'The task is added.' },
  AssignTask: { title: 'Assign', done: 'The task is assigned.' },
  UnassignTask: { title: 'Unassign', done: 'The task has no assignee any more.' },
  CompleteTask: { title: 'Complete', done: 'The task is completed.' },
  CancelDeal: { title: 'Cancel the deal', done: 'The deal is cancelled.' },
  DeleteDeal: { title: 'Delete', done: 'The deal is deleted.' },
}

/** The same for a deal that is on hold, where it differs. */
export const titlesOnHold: Readonly<Record<string, string | undefined>> = {
  HoldDeal: 'Change the reason of the hold',
}

/** Titles that say of what, for pages of their own. */
export const pageTitles: Readonly<Record<string, string | undefined>> = {
  AssignTask: 'Assign a task',
  UnassignTask: 'Unassign a task',
  CompleteTask: 'Complete a task',
  CompleteDeal: 'Complete the deal',
  HoldDeal: 'Hold the deal',
  DeleteDeal: 'Delete the deal',
  RestoreDeal: 'Restore the deal',
  RenameDeal: 'Rename the deal',
  ReopenDeal: 'Reopen the deal',
}

/** What a use case does, for people who are about to do it. Most need no such words. */
export const commandHints: Readonly<Record<string, string | undefined>> = {
  DeleteDeal: 'Readers no longer see the deal. It can be restored for 30 days.',
  RestoreDeal: 'The deal comes back as it was.',
  UnholdDeal: 'Price and date can then be changed again, and the deal can be completed.',
  HoldDeal: 'While a deal is on hold, its price and date stay as they are and it cannot be completed.',
  CancelDeal: 'Open tasks are dropped, and a hold ends.',
  ReopenDeal: 'Penalties stay charged, and dropped tasks stay dropped.',
}

/** `UseCase.parameter` or parameter → label. A parameter that is not here has its name, in words. */
export const labels: Readonly<Record<string, string | undefined>> = {
  name: 'Name',
  newName: 'New name',
  price: 'Price',
  newPrice: 'New price',
  currency: 'Currency',
  completionDate: 'Completion date',
  newDate: 'New completion date',
  ownerId: 'Owner',
  description: 'Description',
  reason: 'Reason',
  reasonCode: 'Code of the reason',
  penaltyAmount: 'Penalty',
  whyChanged: 'Reason',
  completedOn: 'Completed on',
  finalPrice: 'Final price',
  documentNumber: 'Document number',
  comment: 'Comment',
  openTasks: 'Tasks that are still open',
  employeeId: 'User',
  'AssignOwner.employeeId': 'New owner',
  'AssignTask.employeeId': 'Assignee',
  assigneeId: 'Assignee',
  title: 'Title',
  dueDate: 'Due',
  taskId: 'Task',
  result: 'Result',
}

/** The same for hints. A parameter that is not here has the description of its schema. */
export const hints: Readonly<Record<string, string | undefined>> = {
  name: 'Up to 200 characters.',
  newName: 'Up to 200 characters.',
  title: 'Up to 200 characters.',
  price: 'With a point before the decimals, such as 1234.50.',
  newPrice: 'With a point before the decimals, such as 1234.50.',
  penaltyAmount: '0 for none.',
  currency: 'Such as EUR. The usual currency when left empty.',
  newDate: 'Empty: the deal has no completion date any more.',
  completionDate: '',
  dueDate: '',
  ownerId: 'A user name. You are the owner when left empty.',
  employeeId: 'A user name.',
  assigneeId: 'A user name.',
  reason: 'Up to 1,000 characters.',
  whyChanged: 'Up to 1,000 characters.',
  result: 'Up to 1,000 characters.',
  comment: 'Up to 1,000 characters.',
  description: 'Up to 4,000 characters.',
  documentNumber: 'Up to 64 characters.',
  reasonCode: 'Small letters, digits and hyphens, such as waiting-for-customer.',
  completedOn: 'Today when left empty.',
  finalPrice: 'The price when left empty.',
  taskId: '',
}

/** `parameter.value` → the text of a choice. A value that is not here stands for itself. */
export const choices: Readonly<Record<string, string | undefined>> = {
  'openTasks.refuse': 'Do not complete the deal',
  'openTasks.drop': 'Drop them',
}

/** Code → why a command is not possible now, or was refused. Codes that are not here have the words of the API. */
export const refusals: Readonly<Record<string, string | undefined>> = {
  'deal-closed': 'The deal is completed or cancelled. Reopen it first.',
  'deal-completed': 'The deal is completed. Reopen it first.',
  'deal-held': 'The deal is on hold. End the hold first.',
  'open-tasks': 'The deal has open tasks. Complete them first, or choose to drop them.',
  'task-limit': 'The deal has as many tasks as it may have.',
  'task-done': 'The task is done already.',
  'task-dropped': 'The task was dropped when the deal was closed.',
  'task-not-found': 'The deal has no such task.',
  'deal-exists': 'This deal was created before.',
  'penalty-limit': 'With this penalty, all penalties together would be too large.',
  'command-id-reused': 'This form was sent before, with other content. Look at the deal, then send it again.',
  'command-in-progress':
    'Too many commands wait for this deal. Send the form again in a moment: nothing is done twice.',
  unavailable: 'The server cannot do this at the moment. Send the form again: nothing is done twice.',
}

/** Code of an error at a field → its words. Codes that are not here have the words of the API. */
export const fieldFaults: Readonly<Record<string, string | undefined>> = {
  'missing-member': 'This field is needed.',
  'wrong-type': 'This value has not the right form.',
  'too-short': 'This field must not be empty.',
  'invalid-amount': 'Enter an amount such as 1234.50, without sign and without blanks.',
  'currency-scale': 'This currency has fewer decimals.',
  'invalid-date': 'Enter a date from 2000 to 2199.',
  'employee-unknown': 'There is no enabled user of this name.',
  'unknown-currency': 'Enter the code of a currency, such as EUR.',
}
