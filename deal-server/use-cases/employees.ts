import { foldUsername } from '../../shared/principals/record.ts'
import { type DealRefusal, refuseMember } from '../domain/refusal.ts'
import type { DecisionContext } from './define-use-case.ts'

/** True for two spellings of one user name, and for none twice. */
export const isSameUser = (a: string | null, b: string | null): boolean =>
  a === b || (a !== null && b !== null && foldUsername(a) === foldUsername(b))

/** The user name as created, or the refusal of the parameter `name` that is no enabled user's. */
export function employeeOf(username: string, name: string, { employees }: DecisionContext): string | DealRefusal {
  const message = 'There is no enabled user of this name.'
  return (
    employees.get(foldUsername(username)) ??
    refuseMember('employee-unknown', { name, problem: 'employee-unknown', message })
  )
}
