/** Sends a command that a form has asked for. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { Api } from '../frame/api.ts'

interface SentCommand {
  readonly route: string
  readonly path?: Readonly<Record<string, string>>
  readonly body: unknown
  /** The same form has the same id, however often it is sent. */
  readonly commandId: string
  readonly ifMatch?: string
}

type SentReply =
  | { readonly ok: true; readonly isChanged: boolean }
  | {
      readonly ok: false
      readonly problem: ProblemDocument
      /** True when the command may still run under its id: then the form keeps the id. */
      readonly isOpen: boolean
    }

/** Sends it once. It does not throw for a refusal. */
export async function sendCommand(api: Api, sent: SentCommand): Promise<SentReply> {
  const { route, path = {}, body, commandId, ifMatch } = sent
  const headers = { 'idempotency-key': commandId, prefer: 'return=minimal', ...(ifMatch && { 'if-match': ifMatch }) }
  const reply = await api.call({ route, path, body, headers })
  if (reply.ok) return { ok: true, isChanged: reply.headers['deal-changed'] !== 'false' }
  const { status, problem } = reply
  return { ok: false, problem, isOpen: status >= 500 || problem.code === 'command-in-progress' }
}
