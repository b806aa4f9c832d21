/** All texts of the pages of one deal, and of the forms of commands. Those of its history are in `events.ts`. */
export const dealTexts = {
  states: { open: 'open', held: 'on hold', completed: 'completed', cancelled: 'cancelled' },
  taskStatuses: { open: 'open', done: 'done', dropped: 'dropped' },
  openTasksOf: (open: string, all: string) => `${open} open, ${all} in all`,
} as const

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
  status: 'State',
  held: 'On hold',
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
  'precondition-failed': 'Somebody changed the deal after you opened this form. Nothing was done.',
  'command-id-reused': 'This form was sent before, with other content. Look at the deal, then send it again.',
  'command-in-progress':
    'Too many commands wait for this deal. Send the form again in a moment: nothing is done twice.',
  unavailable: 'The server cannot do this at the moment. Send the form again: nothing is done twice.',
}

/** Code of an error at a field → its words. Codes that are not here have the words of the API. */
export const fieldFaults: Readonly<Record<string, string | undefined>> = {
  'missing-member': 'This field is needed.',
  'wrong-type': 'This value does not have the right form.',
  'too-short': 'This field must not be empty.',
  'invisible-text': 'This field needs a character that can be seen.',
  'invalid-amount': 'Enter an amount such as 1234.50, without sign and without blanks.',
  'currency-scale': 'This currency has fewer decimals.',
  'invalid-date': 'Enter a date from 2000 to 2199.',
  'employee-unknown': 'There is no enabled user of this name.',
  'unknown-currency': 'Enter the code of a currency, such as EUR.',
}
