import type { LimitRefusal, NoteRefusal } from '../../shared/protocol/login-throttle/limit-refusals.ts'
import type { Audit } from './audit.ts'

/** What a caller of each scheme tried to prove. */
const actions: Readonly<Record<LimitRefusal['scheme'], string>> = {
  basic: 'password.verified',
  'key-signed': 'password.verified',
  digest: 'digest-secret.verified',
}

/** Writes down refusals by a limit of what comes with each request, on either server. Of all that comes of such credentials, these alone are entries. */
export const recordRefusals =
  (audit: Audit): NoteRefusal =>
  ({ count, ...refusal }) => {
    const event = { ...refusal, action: actions[refusal.scheme], outcome: 'too-many-attempts', requestId: null }
    return audit.recordRefusal(event, count)
  }
