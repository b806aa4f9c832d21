import { emptyAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import { limitRefusalsSchema, type NoteRefusal } from '../../../shared/protocol/login-throttle/limit-refusals.ts'
import type { InternalEndpoint } from './internal-endpoint.ts'

/** POST /internal/limit-refusals: what a limit refused at deal servers, for the audit log. Answered when all of it is written down. */
export const limitRefusalEndpoint = (note: NoteRefusal): InternalEndpoint => ({
  method: 'POST',
  path: '/limit-refusals',
  handle: async (call) => {
    const { refusals } = await readBodyAs(call, limitRefusalsSchema)
    await Promise.all(refusals.map(note))
    return emptyAnswer(204, noStore)
  },
})
