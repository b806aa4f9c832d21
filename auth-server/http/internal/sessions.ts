import { jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import { type SessionAnswer, sessionQuestionSchema } from '../../../shared/protocol/internal-api/sessions.ts'
import type { StoredSessions } from '../../logins/use-session.ts'
import type { InternalEndpoint } from './internal-endpoint.ts'

/** POST /internal/sessions: a session by the hash of its key, which the cache then has for every deal server. */
export const sessionEndpoints = (sessions: StoredSessions): InternalEndpoint[] => [
  {
    method: 'POST',
    path: '/sessions',
    handle: async (call) => {
      const { keyHash, isAction } = await readBodyAs(call, sessionQuestionSchema)
      const session = await (isAction ? sessions.use(keyHash) : sessions.look(keyHash))
      if (session) await sessions.remember(keyHash, session)
      const answer: SessionAnswer = { session: session ?? null }
      return jsonAnswer(200, answer, noStore)
    },
  },
]
