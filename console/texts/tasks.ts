/** All texts of the page of tasks. */
export const taskTexts = {
  title: 'My tasks',
  task: 'Task',
  deal: 'Deal',
  dueDate: 'Due',
  assignedAt: 'Assigned',
  held: 'held',
  none: 'No open task is assigned to you.',
  noneOf: 'No open task is assigned to this user.',
  titleOf: (username: string) => `Tasks of ${username}`,
  ofUser: 'Tasks of the user',
  show: 'Show',
} as const
