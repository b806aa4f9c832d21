import type { HttpCall } from '../../../shared/platform/http/request.ts'

/** Names whoever has just proved to know a password in the line that the log has of this request. */
export const nameCaller =
  (call: HttpCall) =>
  (userId: string): void => {
    call.caller = { userId, scheme: 'password' }
  }
