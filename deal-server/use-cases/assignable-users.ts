import { timeOfId } from '../../shared/platform/ids.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import { type DealRefusal, refuseMember } from '../domain/refusal.ts'
import type { Task } from '../domain/task.ts'
import type { DecisionContext, Employee } from './define-use-case.ts'

/** True for two spellings of one user name, and for none twice. */
export const isSameUser = (a: string | null, b: string | null): boolean =>
  a === b || (a !== null && b !== null && foldUsername(a) === foldUsername(b))

/**
 * True for the user who was given the task, false for another one who has the name now. Of a task that was assigned
 * before ids were kept: true for a user who had the name then, as the id tells.
 */
export function isAssignee({ assigneeId, assigneeUserId, assignedAt }: Task, { username, userId }: Employee): boolean {
  if (!isSameUser(assigneeId, username)) return false
  return assigneeUserId == null ? timeOfId(userId) <= Date.parse(assignedAt ?? '') : assigneeUserId === userId
}

/** The user, or the refusal of the parameter `name` that is no enabled user's. */
export function employeeOf(
  username: string,
  name: string,
  { assignableUsers }: DecisionContext,
): Employee | DealRefusal {
  const message = 'There is no enabled user of this name.'
  return (
    assignableUsers.get(foldUsername(username)) ??
    refuseMember('employee-unknown', { name, problem: 'employee-unknown', message })
  )
}
