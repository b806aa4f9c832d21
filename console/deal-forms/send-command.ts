/** Sends a command that a form has asked for. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { ApiReply } from '../frame/api.ts'

/** The header fields of a command. The same form has the same id, however often it is sent. */
export const commandHeaders = (commandId: string, ifMatch?: string) => ({
  'idempotency-key': commandId,
  prefer: 'return=minimal',
  ...(ifMatch !== undefined && { 'if-match': ifMatch }),
})

type SentReply =
  | { readonly ok: true; readonly isChanged: boolean }
  | {
      readonly ok: false
      readonly problem: ProblemDocument
      /** True when the command may still run under its id: then the form keeps the id. */
      readonly isOpen: boolean
    }

/** What happened to a command. */
export function outcomeOf(reply: ApiReply<unknown>): SentReply {
  if (reply.ok) return { ok: true, isChanged: reply.headers['deal-changed'] !== 'false' }
  const { status, problem } = reply
  return { ok: false, problem, isOpen: status >= 500 || problem.code === 'command-in-progress' }
}
