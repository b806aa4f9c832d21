import { timeOfId } from '../../shared/platform/ids.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import type { UserIdentity } from '../domain/own-deals.ts'
import { type DealRefusal, refuseMember } from '../domain/refusal.ts'
import type { Task } from '../domain/task.ts'
import type { DecisionContext } from './define-use-case.ts'

/** True for two spellings of one user name, and for null twice. */
export const isSameUser = (a: string | null, b: string | null): boolean =>
  a === b || (a !== null && b !== null && foldUsername(a) === foldUsername(b))

/**
 * True for the user who got the task, false for another user who has the name now. An old task has no user id: then
 * true for a user who existed when the task was assigned, by the time in the user's id.
 */
export function isAssignee(
  { assigneeId, assigneeUserId, assignedAt }: Task,
  { username, userId }: UserIdentity,
): boolean {
  if (!isSameUser(assigneeId, username)) return false
  return assigneeUserId == null ? timeOfId(userId) <= Date.parse(assignedAt ?? '') : assigneeUserId === userId
}

/** The user with this name, or the refusal of the parameter `name` when no enabled user has it. */
export function assignableUserOf(
  username: string,
  name: string,
  { assignableUsers }: DecisionContext,
): UserIdentity | DealRefusal {
  const message = 'There is no enabled user of this name.'
  return (
    assignableUsers.get(foldUsername(username)) ??
    refuseMember('employee-unknown', { name, problem: 'employee-unknown', message })
  )
}
